"""Pairs of an English and a French sentence: their form, which of them are clean, and the words by which two of them are compared."""
import re
import unicodedata
from typing import NamedTuple


class Pair(NamedTuple):
    english: str
    french: str
    source: str = ""
    file: str = ""  # the document it stands in: whole documents are held out


refused = set("%{}<>=\\|$@\ufffd")  # format characters of messages and code; and a character that no reader knew
apostrophes = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u00ad": None, "\u200b": None, "\u2060": None, "\ufeff": None, "\u200e": None, "\u200f": None})
abbreviations = {"e.g.", "i.e.", "etc.", "vs.", "cf.", "fig.", "no.", "approx.", "resp.", "ex.", "c.-à-d.", "c.à.d.", "m.", "mr.", "mrs.", "dr.", "st.", "p.", "incl."}
end_of_sentence = re.compile(r"(?<=[.!?…])[\"'»”)]*\s+(?=[\"'«“(]?\s?[^\W\d_a-zà-ÿ])")
number = re.compile(r"\d+(?:[., ]\d+)*")
word = re.compile(r"\w+")


def normalised(text):
    """NFC, one space for each run of white space (no-break spaces too), straight apostrophes, nothing invisible."""
    return " ".join(unicodedata.normalize("NFC", text).translate(apostrophes).split())


def is_clean(english, french):
    """4 to 40 words each, no format characters, mostly letters, lengths alike, the same digits, and not the same sentence."""
    for text in (english, french):
        if not 4 <= len(text.split()) <= 40 or not refused.isdisjoint(text):
            return False
        letters = sum(c.isalpha() for c in text)
        if letters < 0.65 * len(text.replace(" ", "")) or any(unicodedata.category(c)[0] == "C" for c in text):
            return False
    if not 0.5 <= (len(french) + 5) / (len(english) + 5) <= 2.2 or english.casefold() == french.casefold():
        return False
    return sorted(filter(str.isdigit, english)) == sorted(filter(str.isdigit, french))


def sentences(text):
    """The sentences of a normalised paragraph. A point after an abbreviation or an initial ends none."""
    found, first = [], 0
    for space in end_of_sentence.finditer(text):
        last = text[first:space.end()].split()[-1].lstrip("(«\"'").casefold()
        if last not in abbreviations and not re.fullmatch(r"[^\W\d_]\.", last):
            found.append(text[first:space.end()].strip())
            first = space.end()
    return found + [text[first:].strip()]


def split(english, french):
    """A paragraph's pairs of sentences if both sides have as many, each with its like; else the paragraph as it is."""
    ours, theirs = sentences(english), sentences(french)
    alike = len(ours) == len(theirs) and all(0.4 <= (len(f) + 10) / (len(e) + 10) <= 2.5 for e, f in zip(ours, theirs))
    return list(zip(ours, theirs)) if alike else [(english, french)]


def masked(text):
    """Lower case, and each number is 0: sentences that differ in no more count as one."""
    return number.sub("0", text.casefold())


def word_set(text):
    return frozenset(word.findall(masked(text)))


def clean_pairs(found):
    """The clean pairs of what readers found, each English sentence once: the first one stays."""
    seen = set()
    for pair in found:
        for english, french in split(normalised(pair.english), normalised(pair.french)):
            if is_clean(english, french) and (key := masked(english)) not in seen:
                seen.add(key)
                yield Pair(english, french, pair.source, pair.file)
