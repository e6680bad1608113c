#!/usr/bin/env python3
"""Makes the pairs of English and French sentences that the translation example learns, from Debian's packages.

text.py [--large | --small] [--seed N] [--folder DIR]

Writes train.tsv, dev.tsv, random.tsv and held_out.tsv (English, French, source and document in columns), and their SHA-256 in sha256sums, in DIR/default,
DIR/large or DIR/small; prints the count of each source and the sets. The same packages and seed give the same bytes.
"""
import argparse
import collections
import hashlib
import sys
from pathlib import Path
from typing import NamedTuple

sys.dont_write_bytecode = True
import packages
import readers
from pairs import Pair, clean_pairs
from sets import split_into_sets, whole_files


class Source(NamedTuple):
    name: str
    packages: tuple
    read: object  # (folder) -> (file, English, French)


class Size(NamedTuple):
    sources: list
    min_pairs: int
    of_each: int  # pairs in dev and in random
    of_files: int  # pairs in the documents that are held out
    min_held_out: int
    max_pairs: int = 0  # 0: all
    max_megabytes: int = 0  # of packages, 0: any


def catalogues(package, marks=""):
    return Source(package, (package,), lambda folder: readers.read_catalogues(folder, marks))


help_of_libreoffice = Source("libreoffice-help", ("libreoffice-help-fr", "libreoffice-help-en-us"), readers.read_help)
small = [
    help_of_libreoffice._replace(read=lambda folder: readers.read_help(folder, "text/swriter")),  # seconds
    Source("manpages", ("manpages-fr", "manpages"), readers.read_manuals),
    catalogues("libreoffice-l10n-fr", "~_"),
]
default = [
    help_of_libreoffice,
    Source("manpages", ("manpages-fr", "manpages-fr-dev", "manpages", "manpages-dev", "coreutils"), readers.read_manuals),
    Source("gnome-user-docs", ("gnome-user-docs",), readers.read_mallard),
    catalogues("libreoffice-l10n-fr", "~_"),
    catalogues("krita-l10n", "&"),
    *map(catalogues, "gcc-12-locales binutils-common git gettext gnupg-l10n aptitude-common coreutils util-linux-locales".split()),
]
campaigns = "did dm dw ei httt l low nr sof sota sotbe thot trow tsg ttb utbs".split()
large = [*default, *(catalogues(f"wesnoth-1.16-{name}") for name in campaigns), catalogues("blender-data")]
sizes = {
    "small": Size(small, min_pairs=1800, of_each=100, of_files=200, min_held_out=50, max_pairs=2000, max_megabytes=10),
    "default": Size(default, min_pairs=60000, of_each=1000, of_files=2000, min_held_out=500),
    "large": Size(large, min_pairs=90000, of_each=1000, of_files=2000, min_held_out=500),
}


class counted:
    """What a source gave before it was cleaned."""

    def __init__(self, source, folder):
        self.source, self.folder, self.count = source, folder, 0

    def __iter__(self):
        for file, english, french in self.source.read(self.folder):
            self.count += 1
            yield Pair(english, french, self.source.name, file)


def print_table(sources, pairs, known):
    rows = collections.defaultdict(list)
    for pair in pairs:
        rows[pair.source].append(pair)
    print(f"{'source':22}{'MB':>7}{'documents':>11}{'found':>8}{'clean':>8}{'English words':>15}{'French words':>14}")
    for of in sources:
        mine = rows[of.source.name]
        megabytes = sum(known[name][1] for name in of.source.packages) / 1e6
        words = [sum(len(text.split()) for text in side) for side in zip(*((p.english, p.french) for p in mine))] or [0, 0]
        print(f"{of.source.name:22}{megabytes:7.1f}{len({p.file for p in mine}):11}{of.count:8}{len(mine):8}{words[0]:15}{words[1]:14}")
    words = [sum(len(text.split()) for text in side) for side in zip(*((p.english, p.french) for p in pairs))] or [0, 0]
    fetched = sum({file: size for file, size, _ in known.values()}.values()) / 1e6
    documents = len({(p.source, p.file) for p in pairs})
    print(f"{'all':22}{fetched:7.1f}{documents:11}{sum(of.count for of in sources):8}{len(pairs):8}{words[0]:15}{words[1]:14}")
    print("refused as a whole:", ", ".join(f"{n} {what}" for what, n in sorted(readers.refusals.items())) or "nothing")


def make_pairs(size, folder):
    """All clean pairs, after a table of them."""
    names = sorted({name for source in size.sources for name in source.packages})
    if size.max_megabytes:
        expected = sum(bytes for _, bytes, _ in packages.described(names).values())
        if expected > size.max_megabytes * 1e6:
            packages.stop(69, f"expected packages of at most {size.max_megabytes} MB, got {expected / 1e6:.1f} MB: take one out of the list in {__file__}")
    known = packages.fetch(names, folder / "deb")
    sources = []
    for source in size.sources:
        files = [folder / "deb" / known[name][0] for name in source.packages]
        below = "-".join((source.name, str(len(files))))  # the manual pages of --small are fewer
        sources.append(counted(source, packages.unpack(files, folder / "unpacked" / below)))
    pairs = list(clean_pairs(pair for source in sources for pair in source))
    print_table(sources, pairs, known)
    return pairs


def tsv(pairs):
    return "".join("\t".join(pair) + "\n" for pair in pairs).encode()


def write_sets(sets, folder):
    """The files, and a table of their pairs and hashes."""
    folder.mkdir(parents=True, exist_ok=True)
    sums = []
    print(f"\n{'set':10}{'pairs':>8}  SHA-256")
    for name, pairs in sets.items():
        data = tsv(pairs)
        (folder / f"{name}.tsv").write_bytes(data)
        sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}.tsv\n")
        print(f"{name:10}{len(pairs):8}  {sums[-1].split()[0]}")
    (folder / "sha256sums").write_text("".join(sums))
    print(f"in {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", dest="size", action="store_const", const="large", default="default")
    parser.add_argument("--small", dest="size", action="store_const", const="small")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parents[2] / "build/data/translation")
    options = parser.parse_args()
    size = sizes[options.size]

    pairs = make_pairs(size, options.folder.resolve())
    if size.max_pairs:
        taken = whole_files(pairs, options.seed, size.max_pairs, at_most=True)
        pairs = [p for p in pairs if (p.source, p.file) in taken]
    if len(pairs) < size.min_pairs:
        packages.stop(65, f"expected at least {size.min_pairs} clean pairs, got {len(pairs)}: the packages have changed: compare the table above with "
                          "docs/translation.md, and add one to the sources")
    sets = split_into_sets(pairs, options.seed, size.of_each, size.of_files)
    if len(sets["held_out"]) < size.min_held_out:
        packages.stop(65, f"expected at least {size.min_held_out} held-out pairs that are unlike the training pairs, got {len(sets['held_out'])}: "
                          "try another --seed")
    write_sets(sets, options.folder.resolve() / options.size)


if __name__ == "__main__":
    main()
