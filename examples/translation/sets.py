"""Training pairs and three sets that are none of them: `dev` chooses the checkpoint, `random` is like the training pairs, `held_out` are documents of their own.

A set depends on the seed and the pairs alone: whatever comes first by the SHA-256 of the seed and its text is taken.
"""
import collections
import hashlib

from pairs import word_set


def order(seed, *texts):
    return hashlib.sha256("\0".join((str(seed), *texts)).encode()).digest()


class neighbours:
    """Finds, for a sentence, the pair whose English words have the greatest Jaccard index with its own: |shared| / |both|; the first one of equals.

    An inverted index from each word to the pairs that have it. The words of the sentence are tried from the rarest on: a pair that was not found by the
    first k of n words shares at most n - k of them, so the search ends when the best one found is better than (n - k) / n.
    """

    def __init__(self, pairs):
        self.pairs = list(pairs)
        self.sets = [word_set(p.english) for p in self.pairs]
        self.having = collections.defaultdict(list)
        for i, words in enumerate(self.sets):
            for word in words:
                self.having[word].append(i)

    def best(self, english):
        """(Jaccard index, index of the pair): (0, 0) if no pair shares a word."""
        asked = word_set(english)
        size, seen = len(asked), set()
        shared, both, at = 0, 1, 0  # of the best one: a fraction, so that equal ones are equal
        rare_first = sorted(asked, key=lambda word: (len(self.having.get(word, ())), word))
        for k, word in enumerate(rare_first):
            if shared * size > (size - k) * both:
                break
            for i in self.having.get(word, ()):
                if i in seen:
                    continue
                seen.add(i)
                other = self.sets[i]
                if min(size, len(other)) * both < shared * max(size, len(other)):
                    continue
                its = len(asked & other)
                all_words = size + len(other) - its
                if (its * both, -i) > (shared * all_words, -at):
                    shared, both, at = its, all_words, i
        return shared / both, at


def whole_files(pairs, seed, pairs_wanted, per_file=(5, 200), at_most=False):
    """Names (source, file) of documents in the seed's order until they have that number of pairs; or, at_most, as many documents as fit."""
    sizes = collections.Counter((p.source, p.file) for p in pairs)
    taken, count = set(), 0
    for name in sorted(sizes, key=lambda name: order(seed, *name)):
        if not per_file[0] <= sizes[name] <= per_file[1] or (at_most and count + sizes[name] > pairs_wanted):
            continue
        if count >= pairs_wanted:
            break
        taken.add(name)
        count += sizes[name]
    return taken


def split_into_sets(pairs, seed, of_each, of_files):
    """{name: pairs}: `of_each` pairs in dev and in random; of documents with `of_files` pairs or a few more, held_out has those whose best Jaccard index
    with a training pair is less than 0.5. The others of these documents are in no set."""
    apart = whole_files(pairs, seed, of_files)
    together = [p for p in pairs if (p.source, p.file) not in apart]
    by_seed = sorted(together, key=lambda p: order(seed, p.english, p.french))
    chosen = {"random": by_seed[:of_each], "dev": by_seed[of_each:2 * of_each]}
    not_for_training = {p.english for some in chosen.values() for p in some}
    train = [p for p in together if p.english not in not_for_training]
    memory = neighbours(train)
    held_out = [p for p in pairs if (p.source, p.file) in apart and memory.best(p.english)[0] < 0.5]
    return {"train": train, **chosen, "held_out": held_out}
