"""Readers of documents that exist in English and in French. Each gives (file, English, French) for each paragraph or message that both have.

What does not agree is refused as a whole: a page whose blocks are not the same kinds in the same order, a section of a manual page likewise. `refusals`
counts it.
"""
import collections
import gzip
import html.parser
import os
import re
import struct
import xml.etree.ElementTree
from pathlib import Path

refusals = collections.Counter()
unreadable = "\ufffd"  # in a text: here stood what the reader leaves out, so that pairs.is_clean refuses it


def files_below(folder, pattern):
    """Paths as strings relative to `folder`, sorted; links lead to pages that are there anyway."""
    return sorted(str(p.relative_to(folder)) for p in Path(folder).glob(pattern) if p.is_file() and not p.is_symlink())


# ---- catalogues of messages (GNU gettext's manual, "The Format of GNU MO Files")


def messages(data):
    """[(id, translation)] of a catalogue's bytes. The id has the context and the plural as gettext writes them."""
    order = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}.get(data[:4])
    if order is None or len(data) < 20:
        raise ValueError("expected a .mo file, got other bytes")
    _, count, ids, translations = struct.unpack_from(order + "4I", data, 4)
    if max(ids, translations) + 8 * count > len(data):
        raise ValueError(f"expected tables of {count} messages, got {len(data)} bytes")
    texts = []
    for table in (ids, translations):
        spans = list(struct.iter_unpack(order + "2I", data[table:table + 8 * count]))
        if any(start + length > len(data) for length, start in spans):
            raise ValueError(f"expected messages inside of {len(data)} bytes, got one that ends after them")
        texts.append([data[start:start + length] for length, start in spans])
    found = dict(zip(*texts))
    charset = re.search(rb"charset=([\w-]+)", found.get(b"", b""))
    charset = charset[1].decode() if charset else "utf-8"
    return [(a.decode(charset), b.decode(charset)) for a, b in found.items() if a]


def without_accelerator(text, marks):
    """'&Open' is 'Open'. A mark before a space stays, and so do several: 'file_name_of'."""
    for mark in marks:
        if text.count(mark) == 1:
            text = re.sub(re.escape(mark) + r"(?=\w)", "", text)
    return text


def read_catalogues(folder, marks=""):
    for file in files_below(folder, "**/fr/LC_MESSAGES/*.mo"):
        try:
            found = messages((Path(folder) / file).read_bytes())
        except (ValueError, LookupError):  # cut off, or of an unknown charset
            refusals["catalogues"] += 1
            continue
        for english, french in found:
            english = re.sub(r"^\w[\w ,.:]*\^(?=\S)", "", english.split("\4")[-1].split("\0")[0])  # without context, gettext's and Wesnoth's; the singular
            french = french.split("\0")[0]
            english, french = without_accelerator(english, marks), without_accelerator(french, marks)
            ours, theirs = re.split(r"\n\s*\n", english.strip()), re.split(r"\n\s*\n", french.strip())
            if len(ours) != len(theirs):
                refusals["messages"] += 1
                continue
            for pair in zip(ours, theirs):
                yield file, *pair


# ---- LibreOffice's help: a paragraph has the same id in every language


class help_page(html.parser.HTMLParser):
    """paragraphs: id -> text; the first of an id counts. Of words that depend on the system or the program, the default ones stay."""

    def __init__(self):
        super().__init__()
        self.paragraphs, self.inside, self.special = {}, None, 0

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        name = attributes.get("id") or ""
        if tag == "span" and self.inside and (self.special or ("hidden" in attributes and "class" in attributes)):
            self.special += 1
        elif re.match(r"(par|hd)_id", name):
            self.inside = (tag, name)
            if name in self.paragraphs:
                self.inside = (tag, None)
            else:
                self.paragraphs[name] = ""
        elif tag == "br":
            self.handle_data(" ")
        elif tag == "img":
            self.handle_data(unreadable)

    def handle_endtag(self, tag):
        if self.special:
            self.special -= tag == "span"
        elif self.inside and tag == self.inside[0]:
            self.inside = None

    def handle_data(self, data):
        if self.inside and self.inside[1] and not self.special:
            self.paragraphs[self.inside[1]] += data


def read_help(folder, below="text"):
    base = "usr/share/libreoffice/help"
    for file in files_below(Path(folder) / base / "fr", f"{below}/**/*.html"):
        sides = []
        for language in ("en-US", "fr"):
            path = Path(folder) / base / language / file
            page = help_page()
            if path.is_file():
                page.feed(path.read_text(encoding="utf-8"))
            sides.append(page.paragraphs)
        for name, english in sides[0].items():
            if name in sides[1]:
                yield file, english, sides[1][name]


# ---- manual pages: the few macros and escapes of man(7)

characters = {
    "aq": "'", "dq": '"', "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "em": "—", "en": "–", "hy": "-", "mi": "-", "bu": "•", "co": "©", "rg": "®", "ha": "^",
    "ti": "~", "ga": "`", "aa": "´", "mu": "×", "+-": "±", "<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "Fo": "«", "Fc": "»", "de": "°", "sc": "§", "rs": "\\",
    "sq": "'", "%": "%", "12": "½", "tm": "™", "e'": "é", "'e": "é", "`e": "è", "oe": "œ", "ss": "ß", "sl": "/", "at": "@", "ul": "_", "*m": "μ", "+": "+", "=": "=",
    "L\"": "“", "R\"": "”", "<-": "←", "lB": "[", "rB": "]", "lC": "{", "rC": "}", "or": "|", "sh": "#", "Do": "$", "/_": "/",
}
escape = re.compile(
    r"""\\(?:(?P<font>f(?:\[[^]]*\]|\(..|.)) | (?P<size>s(?:[+-]?\d|\([+-]?..|\[[^]]*\])) | (?P<nothing>[&/,)%:|^!?]|[hvwDl]'[^']*') | (?P<space>[ ~0])
      | (?P<dash>-) | (?P<quote>['`]) | (?P<slash>[e\\]) | (?P<point>\.) | \[(?P<long>[^]]*)\] | \((?P<short>..) | (?P<string>\*(?:\[[^]]*\]|\(..|.)) | (?P<end>c)$)""",
    re.X)


def unescaped(text):
    """A line's text; a character or a command that is not known is `unreadable`."""

    def one(found):
        kind = found.lastgroup
        if kind in ("long", "short"):
            name = found[kind]
            if code := re.fullmatch(r"u([0-9A-Fa-f]{4,6})", name):
                return chr(int(code[1], 16))
            return characters.get(name, unreadable)
        fixed = {"font": "", "size": "", "nothing": "", "space": " ", "dash": "-", "slash": "\\", "point": ".", "end": ""}
        if kind == "string":
            return {"lq": "“", "rq": "”", "R": "®", "Tm": "™"}.get(found[kind][1:].strip("[("), unreadable)
        return found[kind] if kind == "quote" else fixed[kind]

    text, count = re.subn(escape, lambda m: one(m).replace("\\", "\0"), text)
    return text.replace("\\", unreadable).replace("\0", "\\")


def arguments(text):
    """Of a macro's line: words, or texts in double quotes ("" is one inside)."""
    return [a.replace('""', '"') if quoted else b for quoted, a, b in re.findall(r'("((?:[^"]|"")*)"?)|((?:\\ |\S)+)', text)]


fonts = {"B", "I", "R", "BR", "BI", "RB", "RI", "IB", "IR", "SM", "SB"}
paragraph_macros = {"PP", "LP", "P", "RS", "RE", "sp", "br", "in", "HP", "ti"}
quiet_macros = {"ad", "nh", "hy", "PD", "ne", "ft", "na", "ss", "ns", "rs", "TH", "UC", "DT", "ps", "vs", "AT", "fam", "lf", "ig"}


class roff_page:
    """sections: for each .SH, its heading and then its blocks as (kind, text). Nothing of it if the page is written with other macros (mdoc)."""

    def __init__(self, source):
        self.sections, self.kind, self.text = [], "text", ""
        self.verbatim = self.skipped = ""  # what ends it
        self.tag_follows = False
        for line in source.replace("\\\n", "").split("\n"):
            self.read(line)
        self.end_block()

    def end_block(self, kind="text"):
        text = " ".join(self.text.split())
        if text and self.sections:
            self.sections[-1].append((self.kind, text))
        self.kind, self.text = kind, ""

    def read(self, line):
        if self.skipped:
            if re.match(self.skipped, line):
                self.skipped = ""
            return
        line = re.sub(r'\\["#].*', "", line)
        control = re.match(r"[.']\s*([A-Za-z]+|\.|$)(.*)", line)
        if control:
            self.macro(control[1], control[2].strip())
        elif not self.verbatim and line[:1] not in (".", "'"):
            if line[:1] in (" ", "\t", ""):
                self.end_block()
            self.add(line)

    def add(self, text, joined=False):
        self.text += unescaped(text) + " "
        if re.search(r"(?<!\\)\\c$", text):
            self.text = self.text[:-1]
        if self.tag_follows and text.strip():
            self.tag_follows = False
            self.end_block()

    def macro(self, name, rest):
        if name in ("fi", "EE", "YS"):
            self.verbatim = ""
            self.end_block()
        elif name in ("nf", "EX", "SY"):
            self.end_block()
            self.verbatim = name
            if self.sections:
                self.sections[-1].append(("verbatim", ""))
        elif name == "TS" or name == "EQ":
            self.end_block()
            self.skipped = r"\.TE" if name == "TS" else r"\.EN"
            if self.sections:
                self.sections[-1].append(("table", ""))
        elif name in ("de", "ig", "am"):
            self.skipped = r"\.\."
        elif name == "SH":
            self.end_block()
            self.verbatim = ""
            self.sections.append([("heading", " ".join(map(unescaped, arguments(rest))))])
        elif self.verbatim:
            return
        elif name == "SS":
            self.end_block("heading")
            self.add(" ".join(arguments(rest)))
            self.end_block()
        elif name in ("TP", "TQ"):
            self.end_block("tag")
            self.tag_follows = True
        elif name == "IP":
            self.end_block("tag")
            self.add((arguments(rest) or [""])[0])
            self.end_block()
        elif name in paragraph_macros:
            self.end_block()
        elif name in fonts:
            between = " " if name in ("B", "I", "R", "SM", "SB") else ""
            self.add(between.join(arguments(rest)))
        elif name not in quiet_macros:
            self.text += unreadable  # a link, a condition, or a macro of another kind


def blocks_of_page(path):
    page = roff_page(gzip.decompress(Path(path).read_bytes()).decode("utf-8", "replace"))
    return page.sections


def of_translators(section):
    return section[0][1].casefold() in ("traduction", "traducteurs")


def read_manuals(folder):
    """Section by section: the page is refused if the numbers of sections differ, a section if its blocks differ in number or kind."""
    english_pages = {}
    for file in files_below(folder, "usr/share/man/man*/*.gz"):
        english_pages.setdefault(os.path.basename(file), file)
    for file in files_below(folder, "usr/share/man/fr/man*/*.gz"):
        name = os.path.basename(file)
        if name not in english_pages:
            refusals["manual pages without an English one"] += 1
            continue
        ours = blocks_of_page(Path(folder) / english_pages[name])
        theirs = [s for s in blocks_of_page(Path(folder) / file) if not of_translators(s)]
        if len(ours) != len(theirs):
            refusals["manual pages"] += 1
            continue
        for a, b in zip(ours, theirs):
            if [kind for kind, _ in a] != [kind for kind, _ in b]:
                refusals["sections of manual pages"] += 1
                continue
            for (kind, english), (_, french) in zip(a, b):
                if kind == "text":
                    yield name, english, french


# ---- GNOME's help: Mallard pages, whose blocks stand in the same order


def blocks_of_mallard(path):
    """[(tag, text)] of titles, descriptions and paragraphs."""
    blocks = []

    def visit(element):
        tag = re.sub(r"\{.*\}", "", element.tag) if isinstance(element.tag, str) else ""
        if tag in ("title", "desc", "p"):
            bare = any(isinstance(e.tag, str) and e.tag.endswith("}link") and not "".join(e.itertext()).strip() for e in element.iter())
            blocks.append((tag, "".join(element.itertext()) + (unreadable if bare else "")))
        elif tag not in ("credit", "code", "screen", "media", ""):
            for child in element:
                visit(child)

    visit(xml.etree.ElementTree.parse(path).getroot())
    return blocks


def read_mallard(folder):
    for file in files_below(folder, "usr/share/help/fr/**/*.page"):
        english = Path(folder) / file.replace("/help/fr/", "/help/C/", 1)
        if not english.is_file():
            refusals["pages of GNOME's help"] += 1
            continue
        try:
            ours, theirs = blocks_of_mallard(english), blocks_of_mallard(Path(folder) / file)
        except xml.etree.ElementTree.ParseError:
            ours, theirs = [("unreadable", "")], []
        if [tag for tag, _ in ours] != [tag for tag, _ in theirs]:
            refusals["pages of GNOME's help"] += 1
            continue
        for (_, a), (_, b) in zip(ours, theirs):
            yield file, a, b
