#!/usr/bin/env python3
"""The text of the translation example: translation.py [--network] FOLDER

Without the network: the readers get documents that are written here, and what they give is compared; then what is clean, the sets and the memory.
With --network: examples/translate --text --small makes its files twice, the second time without fetching, and their bytes are the same; ends with 77
(skipped) if there is no apt or no network, and where CI is set a skip is a failure.
"""
import collections
import gzip
import os
import struct
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
root = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "examples/translation"))
import pairs
import readers
import sets

wrong = []


def expect(words, got, expected):
    if got != expected:
        wrong.append(f"{words}:\n  expected {expected!r}\n  got      {got!r}")


def refuses(words, call):
    try:
        call()
    except ValueError:
        return
    wrong.append(f"{words}: expected it to be refused")


def put(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


# ---- catalogues


def catalogue(messages, order="<"):
    """The bytes of a .mo file."""
    sides = [[a.encode() for a, _ in messages], [b.encode() for _, b in messages]]
    count = len(messages)
    at, tables, text = 28 + 16 * count, b"", b""
    for side in sides:
        for one in side:
            tables += struct.pack(order + "2I", len(one), at + len(text))
            text += one + b"\0"
    return struct.pack(order + "7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, 0) + tables + text


def check_catalogues(folder):
    head = ("", "Content-Type: text/plain; charset=UTF-8\n")
    messages = [head, ("menu\4Open the &file", "Ouvrir le &fichier"), ("One file\0%d files", "Un fichier\0%d fichiers"), ("Here & there\n\nBelow", "Ici & là\n\nDessous"),
                ("One part", "Deux\n\nparties"),
                ("self_female^I can", "Je peux"), ("Sa_ve as", "_Enregistrer"), ("a_name_here", "un_nom_ici")]
    expected = [("Open the file", "Ouvrir le fichier"), ("One file", "Un fichier"), ("Here & there", "Ici & là"), ("Below", "Dessous"), ("I can", "Je peux"),
                ("Save as", "Enregistrer"), ("a_name_here", "un_nom_ici")]
    for order in "<>":
        where = folder / f"catalogues{ord(order)}"
        put(where, "usr/share/locale/fr/LC_MESSAGES/a.mo", catalogue(messages, order))
        put(where, "usr/share/locale/de/LC_MESSAGES/a.mo", catalogue([head, ("Open", "Öffnen")], order))
        readers.refusals.clear()
        expect("messages of a catalogue", [p[1:] for p in readers.read_catalogues(where, "&_")], expected)
        expect("messages whose paragraphs differ in number", readers.refusals["messages"], 1)
    refuses("a file that is no catalogue", lambda: readers.messages(b"\x7fELF" + bytes(60)))
    refuses("a catalogue that was cut off", lambda: readers.messages(catalogue(messages)[:60]))
    refuses("a catalogue whose last message was cut off", lambda: readers.messages(catalogue(messages)[:-9]))
    put(folder / "bad", "fr/LC_MESSAGES/b.mo", catalogue(messages)[:-9])
    expect("messages of a bad catalogue", list(readers.read_catalogues(folder / "bad")), [])
    expect("catalogues that were refused", readers.refusals["catalogues"], 1)


# ---- LibreOffice's help


def check_help(folder):
    base = "usr/share/libreoffice/help"
    english = """<h1 id="hd_id1">A <b>title</b></h1><p id="par_id2">First<br>line, <span id="s" class="switchinline"><span hidden="true" class="MAC">
      <span class="keycode">Command</span></span><span hidden="true"><span>Ctrl</span></span></span>+A &amp; more</p><p id="par_id2">again</p><p id="par_id3">alone</p>
      <p>no id</p><span hidden="true" class="UNIX"><p id="par_id5">On systems</p></span><p id="par_id4">with <img src="x"/></p>"""
    french = """<p id="par_id4">avec <img src="x"/></p><p id="par_id2">Première ligne, <span id="s"><span hidden="true" class="MAC">Commande</span><span
      hidden="true">Ctrl</span></span>+A &amp; plus</p><h1 id="hd_id1">Un titre</h1>
      <span hidden="true" class="UNIX"><p id="par_id5">Sur les systèmes</p></span>"""
    put(folder, f"{base}/en-US/text/a/page.html", english)
    put(folder, f"{base}/fr/text/a/page.html", french)
    put(folder, f"{base}/fr/text/a/french_only.html", french)
    got = [(file, *map(pairs.normalised, sides)) for file, *sides in readers.read_help(folder)]
    expect("paragraphs of help", got, [("text/a/page.html", "A title", "Un titre"), ("text/a/page.html", "First line, Ctrl+A & more", "Première ligne, Ctrl+A & plus"),
                                       ("text/a/page.html", "On systems", "Sur les systèmes"), ("text/a/page.html", "with \ufffd", "avec \ufffd")])


# ---- manual pages

english_page = r"""
.\" a comment
.TH copy 1
.SH NAME
copy \- copy a file
.SH DESCRIPTION
The
.BR copy (1)
program \(lqcopies\(rq a \fIfile\fP to
.IR place ,
or says \e why.
.PP
.nf
copy a b
.fi
.TP
.B \-f
Do not ask.
.IP \(bu 2
An item\[u2014]here.
.TS
l l.
a	b
.TE
See
.UR https://example.org
.UE .
.SS Details
Last \*(xx.
"""
french_page = r"""
.SH NOM
copy \- copier un fichier
.SH DESCRIPTION
Le programme \fBcopy\fP(1) «\ copie\ » un \fIfichier\fP vers \fIendroit\fP, ou dit \e pourquoi.
.PP
.nf
copy a b
.fi
.TP
\fB\-f\fP
Ne pas demander.
.IP \(bu 2
Un élément\[u2014]ici.
.TS
l l.
x	y
.TE
Voir
.UR https://example.org
.UE .
.SS Détails
Dernier.
.SH TRADUCTION
Quelqu'un
"""


def manuals(folder, english, french):
    """What read_manuals gives of one page in both languages."""
    put(folder, "usr/share/man/man1/copy.1.gz", gzip.compress(english.encode()))
    put(folder, "usr/share/man/fr/man1/copy.1.gz", gzip.compress(french.encode()))
    readers.refusals.clear()
    return [p[1:] for p in readers.read_manuals(folder)]


def check_manuals(folder):
    u = readers.unreadable
    expected = [("copy - copy a file", "copy - copier un fichier"),
                ("The copy(1) program “copies” a file to place, or says \\ why.", "Le programme copy(1) « copie » un fichier vers endroit, ou dit \\ pourquoi."),
                ("Do not ask.", "Ne pas demander."), ("An item—here.", "Un élément—ici."), (f"See {u}{u}", f"Voir {u}{u}"), (f"Last {u}.", "Dernier.")]
    expect("blocks of a manual page", manuals(folder, english_page, french_page), expected)
    expect("nothing is refused of a page that agrees", +readers.refusals, collections.Counter())
    one_more = french_page.replace(".SS Détails", ".PP\nUn de plus.\n.SS Détails")
    expect("a section with a block more, and the other section", manuals(folder, english_page, one_more), expected[:1])
    expect("sections that were refused", readers.refusals["sections of manual pages"], 1)
    other_kind = french_page.replace(".TP\n\\fB\\-f\\fP\n", ".PP\n-f\n.PP\n")
    expect("a section with as many blocks of another kind", manuals(folder, english_page, other_kind), expected[:1])
    expect("a page with a section more", manuals(folder, english_page, french_page.replace(".SH TRADUCTION", ".SH NOTES")), [])
    expect("pages that were refused", readers.refusals["manual pages"], 1)
    put(folder, "usr/share/man/fr/man1/alone.1.gz", gzip.compress(french_page.encode()))
    manuals(folder, english_page, french_page)
    expect("pages without an English one", readers.refusals["manual pages without an English one"], 1)


# ---- GNOME's help


def check_mallard(folder):
    page = '<page xmlns="http://projectmallard.org/1.0/"><info><credit><p>{0}</p></credit><desc>{0} d</desc></info><title>{0} t</title>{1}</page>'
    more = '<p>{0} <gui>p</gui></p><p>{0} <link xref="x"/></p><note><p>{0} n</p></note>'
    put(folder, "usr/share/help/C/gnome/a.page", page.format("E", more.format("E")))
    put(folder, "usr/share/help/fr/gnome/a.page", page.format("F", more.format("F")))
    put(folder, "usr/share/help/C/gnome/b.page", page.format("E", more.format("E")))
    put(folder, "usr/share/help/fr/gnome/b.page", page.format("F", more.format("F") + "<p>plus</p>"))
    put(folder, "usr/share/help/C/gnome/c.page", page.format("E", ""))
    put(folder, "usr/share/help/fr/gnome/c.page", "<page>")
    readers.refusals.clear()
    got = [p[1:] for p in readers.read_mallard(folder)]
    expect("blocks of GNOME's help", got, [(f"E {x}", f"F {x}") for x in ("d", "t", "p", " \ufffd".strip(), "n")])
    expect("pages that were refused", readers.refusals["pages of GNOME's help"], 2)


# ---- what is clean


def check_clean():
    expect("white space, apostrophes, invisible characters", pairs.normalised(" l\u2019a\u00ads \u00a0\u202f?\n e\u0301"), "l'as ? é")
    for english, french, words in [
            ("Two words", "Deux mots", "short"), ("a " * 41, "b " * 41, "long"), ("This is a %s file", "Ceci est un %s fichier", "a format"),
            ("Copy 3 files to there", "Copier 4 fichiers là-bas", "other digits"), ("The King James Bible", "the king james bible", "the same"),
            ("This one is short", "Celle-ci est vraiment beaucoup plus longue que cela, et même bien plus", "other lengths"),
            ("1 2 3 4 5 6 a", "1 2 3 4 5 6 b", "few letters"), ("A file here and \ufffd", "Un fichier ici et \ufffd", "unreadable")]:
        expect(f"clean: {words}", pairs.is_clean(english.strip(), french.strip()), False)
    expect("clean", pairs.is_clean("Copy 1,000 files to there", "Copier 1 000 fichiers à cet endroit"), True)

    expect("sentences", pairs.sentences("Open it, e.g. A file. Then read! Why? No. 3 of J. Doe says (so). End"),
           ["Open it, e.g. A file.", "Then read!", "Why?", "No. 3 of J. Doe says (so).", "End"])
    expect("as many sentences", pairs.split("One is here. Two is there.", "Un est ici. Deux est là."), [("One is here.", "Un est ici."), ("Two is there.", "Deux est là.")])
    apart = ("One is here. Two is there.", "Un est ici et deux est là.")
    expect("another number of sentences", pairs.split(*apart), [apart])
    found = [pairs.Pair("Version 1.2 of the file", "Version 1.2 du fichier"), pairs.Pair("version 3 of the File", "Version 3 du fichier"),
             pairs.Pair("Version one of the file", "Version un du fichier")]
    expect("sentences that differ in numbers and case count once", [p.english for p in pairs.clean_pairs(found)], [found[0].english, found[2].english])


# ---- sets and the memory


def words_of(number):
    return [f"w{chr(97 + number * k % 26)}{chr(97 + number // 7 * k % 26)}" for k in range(1, 9)]


def made_up(documents, of_each):
    """Pairs of which many have near neighbours in other documents."""
    return [pairs.Pair(" ".join(words_of(37 * d + n)) + f" x{d % 3}", f"f {d} {n}", "made", f"d{d:03}") for d in range(documents) for n in range(of_each)]


def check_sets():
    some = made_up(60, 8)
    some = [p for i, p in enumerate(some) if pairs.masked(p.english) not in {pairs.masked(q.english) for q in some[:i]}]
    result = sets.split_into_sets(some, 1, 30, 60)
    expect("sizes of the sets", [len(result["random"]), len(result["dev"])], [30, 30])
    texts = {name: {p.english for p in of} for name, of in result.items()}
    for name in ("random", "dev", "held_out"):
        for other in set(texts) - {name}:
            expect(f"pairs in {name} and in {other}", texts[name] & texts[other], set())
    files = {p.file for p in result["held_out"]}
    expect("documents both in training and held out", files & {p.file for p in result["train"] + result["random"] + result["dev"]}, set())
    if not 0 < len(result["held_out"]) < 60:
        wrong.append(f"expected that some of 60 pairs of held-out documents are unlike the training pairs, and some are not, got {len(result['held_out'])}")

    def jaccard(a, b):
        return len(a & b) / len(a | b)

    train = [pairs.word_set(p.english) for p in result["train"]]
    for p in result["held_out"]:
        if max(jaccard(pairs.word_set(p.english), other) for other in train) >= 0.5:
            wrong.append(f"held out, and like a training pair: {p.english}")
    memory = sets.neighbours(result["train"])
    for p in some:  # every pair of every training pair, against the index
        all_of_them = [jaccard(pairs.word_set(p.english), other) for other in train]
        best = max(all_of_them)
        expect(f"nearest neighbour of '{p.english}'", memory.best(p.english), (best, all_of_them.index(best) if best else 0))
    expect("a sentence that shares no word", memory.best("none"), (0, 0))
    numbers = sets.neighbours([pairs.Pair("line 7 is bad", ""), pairs.Pair("line 8 is bad", "")])
    expect("masked numbers, and the first of equals", numbers.best("bad is line 8"), (1.0, 0))

    again = sets.split_into_sets(list(reversed(some)), 1, 30, 60)
    expect("the same sets in another order", {name: set(of) for name, of in again.items()}, {name: set(of) for name, of in result.items()})
    other_seed = sets.split_into_sets(some, 2, 30, 60)
    if other_seed["random"] == result["random"]:
        wrong.append("expected other sets of another seed")


# ---- over the network


def skip(words):
    print(f"skipped: {words}")
    sys.exit(1 if os.environ.get("CI") else 77)


def small(folder):
    done = subprocess.run([root / "examples/translate", "--text", "--small", "--folder", folder], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    print(done.stdout + done.stderr)
    if done.returncode == 69:
        skip("the packages could not be fetched")
    expect("status of examples/translate", done.returncode, 0)
    return {p.name: p.read_bytes() for p in sorted((folder / "small").glob("*"))}, done.stdout


def check_network(folder):
    first, _ = small(folder)
    second, said = small(folder)
    expect("files", sorted(first), ["dev.tsv", "held_out.tsv", "random.tsv", "sha256sums", "train.tsv"])
    expect("the same bytes when made again", first == second, True)
    expect("packages fetched again", "fetches" in said, False)
    lines = {name: data.decode().splitlines() for name, data in first.items()}
    total = sum(len(of) for name, of in lines.items() if name.endswith(".tsv"))
    if not 1600 <= total <= 2000:
        wrong.append(f"expected 1600 to 2000 pairs in all sets, got {total}")
    rows = {name: [line.split("\t") for line in of] for name, of in lines.items() if name.endswith(".tsv")}
    expect("rows without 4 columns", [row for of in rows.values() for row in of if len(row) != 4], [])
    memory = sets.neighbours([pairs.Pair(*row) for row in rows["train.tsv"]])
    expect("held-out pairs like a training pair", [row[0] for row in rows["held_out.tsv"] if memory.best(row[0])[0] >= 0.5], [])
    english = [pairs.masked(row[0]) for of in rows.values() for row in of]
    expect("sentences in two sets or twice in one", len(english) - len(set(english)), 0)


def main():
    folder = Path(sys.argv[-1]).resolve()
    if sys.argv[1] == "--network":
        check_network(folder)
    else:
        for check in (check_catalogues, check_help, check_manuals, check_mallard):
            where = folder / check.__name__
            subprocess.run(["rm", "-rf", where], check=True)
            check(where)
        check_clean()
        check_sets()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
