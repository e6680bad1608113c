// Beam search: the most probable sequences that an encoder and decoder makes of its sources.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/nn/seq2seq.hpp>
#include <meshtf/ops/index/gather.hpp>
#include <meshtf/ops/pointwise/integer_division.hpp>
#include <meshtf/ops/reduce/logsumexp.hpp>
#include <meshtf/ops/reduce/max.hpp>
#include <meshtf/ops/reduce/min.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/ops/reduce/top_k.hpp>
#include <meshtf/ops/shape/concat.hpp>
#include <meshtf/ops/shape/reshape.hpp>
#include <meshtf/ops/shape/slice.hpp>
#include <meshtf/tensor/same_on_all.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// How hypotheses are ranked, and how long they may become.
struct beam_options {
  /// The exponent a of the length penalty: the score is the log probability divided by ((5 + length) / 6)^a.
  double length_penalty = 0.6;
  extent longest        = 0;  // ids of a hypothesis, with its end; 0: as many as there are targets
};

/// What beam search found of each source, along the dimension of the beams, the best first.
///
/// `ids`: int, of the batch, the beams and the targets, up to and with the end, then zeros. `scores`: of the
/// batch and the beams. A score of -infinity says that there are no more hypotheses; its ids are zeros.
template<Tensor Ids, Tensor Scores>
struct hypotheses {
  Ids ids;
  Scores scores;
};

/// `D` is the dimension of the beams, which each process has whole, but the layout splits it over `Axes`.
template<class D, class Axes>
struct beams_are_split {};

namespace detail {

// Dimensions of one step. Each of `Beam` hypotheses goes on with its `PerBeam` best ids; of all these
// candidates twice as many as there are beams stay, since at most half of them end.
template<class Beam, extent PerBeam>
struct ids_of_beam : dim<PerBeam> {};
template<class Beam, extent PerBeam>
struct ids_of_all_beams : dim<Beam::size * PerBeam> {};
template<class Beam>
struct candidates : dim<2 * Beam::size> {};
template<class Beam>
struct kept_of_beams : dim<Beam::size> {};
template<class Beam>
struct ended_and_others : dim<2 * Beam::size> {};

/// ((5 + length) / 6)^exponent. A price does not depend on it.
/// Source: Wu et al., Google's Neural Machine Translation System (2016), equation 14.
constexpr double length_penalty(extent length, double exponent) {
  if (std::is_constant_evaluated()) return 1;
  return std::pow((5 + static_cast<double>(length)) / 6, exponent);
}

[[noreturn]] inline void throw_beam_options(beam_options const& o, extent there) {
  if (!(o.length_penalty >= 0))
    throw software_error("expected a length penalty of at least 0, got " + std::to_string(o.length_penalty));
  throw software_error("expected a longest hypothesis of 1 to " + std::to_string(there) +
                       " ids, the number of targets, or 0 for all of them, got " + std::to_string(o.longest));
}

/// `x` with the rows along `Beam` that `which` names, along `Beam` again. Each process has all beams of its
/// sequences, so nothing is sent.
template<class Beam, class X, class I>
constexpr auto beams_of(X const& x, I const& which, std::source_location at) {
  auto const rows = gather<Beam>(x, which, at);
  return rename<kept_of_beams<Beam>, Beam>(rows, at);
}

/// What the beams have kept, in the order of the hypotheses that go on. Keys and values of the sources stay.
template<class Beam, class Own, class Memory, class I>
constexpr void reorder(decoder_caches<Own, Memory>& caches, I const& parents, std::source_location at) {
  for (Own& own : caches.own) {
    own.keys   = beams_of<Beam>(own.keys, parents, at);
    own.values = beams_of<Beam>(own.values, parents, at);
  }
}

/// The hypotheses of each sequence: those that are live, and apart from them the best that have ended.
template<class Net, class Beam, class T, class L, Dimension... Batch>
struct beams {
  using vocab                       = typename Net::vocab;
  using target                      = typename Net::target;
  using next                        = typename Net::next_position;
  static constexpr extent per_beam  = std::min(2 * Beam::size, vocab::size);
  using ids_of_one                  = ids_of_beam<Beam, per_beam>;
  using ids_of_all                  = ids_of_all_beams<Beam, per_beam>;
  using kept                        = kept_of_beams<Beam>;
  using candidate                   = candidates<Beam>;
  static constexpr ordering largest = {.descending = true};
  static constexpr T none           = -std::numeric_limits<T>::infinity();

  tensor<std::int32_t, L, Batch..., Beam, target> ids;
  tensor<T, L, Batch..., Beam> scores;  // log probabilities, the largest first
  tensor<std::int32_t, L, Batch..., Beam, next> last;
  tensor<std::int32_t, L, Batch..., Beam, target> ended_ids;
  tensor<T, L, Batch..., Beam> ended_scores;  // with their length penalty, the largest first

  /// One live hypothesis without ids.
  constexpr beams(machine<L>& m, std::source_location at)
      : ids{m}, scores{m}, last{m}, ended_ids{m}, ended_scores{m} {
    auto const number = iota<std::int32_t, L, Beam>(m, at);
    ended_scores      = scores + none;
    scores            = where(equal(number, 0, at), scores, none, at);
  }

  /// Goes on with the id at position `i` that `logits` rank. Returns the places of the hypotheses that go on
  /// among those before.
  template<class Logits>
  constexpr auto advance(Logits const& logits, extent i, std::int32_t end, double penalty,
                         std::source_location at) {
    auto const best   = best_candidates(logits, at);
    auto const parent = floor_divide(best.place, static_cast<std::int32_t>(per_beam), at);
    auto const ends   = equal(best.id, end, at);
    keep_ended(parent, best, ends, i, penalty, at);

    auto const going  = where(ends, none, best.score, at);
    auto const first  = top_k<candidate, kept>(going, largest, at);
    auto const chosen = gather<candidate>(parent, first.index, at);
    auto const added  = gather<candidate>(best.id, first.index, at);
    auto before       = beams_of<Beam>(ids, chosen, at);
    scores            = rename<kept, Beam>(first.value, at);
    last              = as_last<Beam>(rename<kept, Beam>(added, at), at);
    ids               = write<target>(std::move(before), last, i, at);
    return chosen;
  }

  /// Whether no live hypothesis can become better than those that have ended: dividing by `penalty`, the
  /// largest, is the best that can happen to its score.
  constexpr auto is_decided(double penalty, std::source_location at) const {
    auto const worst = min<Beam>(ended_scores, at);
    auto const live  = max<Beam>(scores, at);
    return all(greater_equal(worst, live / static_cast<T>(penalty), at), at);
  }

  /// Those that have ended, and where there are fewer than `Beam`, then live ones of the longest length.
  constexpr auto found(double penalty, std::source_location at) const {
    using both         = ended_and_others<Beam>;
    auto const cut     = scores / static_cast<T>(penalty);
    auto const all_of  = concat<both>(ended_scores, rename<Beam, kept>(cut, at));
    auto const all_ids = concat<both>(ended_ids, rename<Beam, kept>(ids, at));
    // number j is the ended one, or the live one after as many as there are ended ones
    auto const is_there = cast<std::int32_t>(greater(ended_scores, none, at), at);
    auto const count    = sum<Beam>(is_there);
    auto const number   = iota<std::int32_t, L, Beam>(scores.machine(), at);
    auto const live   = number + static_cast<std::int32_t>(Beam::size) - broadcast<Batch..., Beam>(count, at);
    auto const which  = rename<Beam, kept>(where(is_there, number, live, at), at);
    auto const score  = rename<kept, Beam>(gather<both>(all_of, which, at), at);
    auto const chosen = rename<kept, Beam>(gather<both>(all_ids, which, at), at);
    auto const exists = greater(score, none, at);
    auto const cleared = where(exists, chosen, std::int32_t{0}, at);
    return hypotheses<std::remove_cv_t<decltype(cleared)>, std::remove_cv_t<decltype(score)>>{cleared, score};
  }

private:
  template<class Score, class Id, class Place>
  struct ranked_candidates {
    Score score;
    Id id;
    Place place;  // beam * per_beam + rank in the beam
  };
  template<class Score, class Id, class Place>
  ranked_candidates(Score, Id, Place) -> ranked_candidates<Score, Id, Place>;

  /// The most probable continuations of all live hypotheses. Where `vocab` is split each process ranks its
  /// own ids, and only the first of each part are gathered.
  template<class Logits>
  constexpr auto best_candidates(Logits const& logits, std::source_location at) const {
    auto const total  = logsumexp<vocab>(logits, at);
    auto const top    = top_k<vocab, ids_of_one>(logits, largest, at);
    auto const normed = top.value - total;
    auto const sums   = merge_dims<Beam, next, ids_of_one, ids_of_all>(normed + scores, at);
    auto const choice = merge_dims<Beam, next, ids_of_one, ids_of_all>(top.index, at);
    auto const first  = top_k<ids_of_all, candidate>(sums, largest, at);
    auto const id     = gather<ids_of_all>(choice, first.index, at);
    return ranked_candidates{first.value, id, first.index};
  }

  /// Keeps the best of those that have ended before and of those that end now. A candidate beyond the first
  /// `Beam` would not stay live if it went on, so its end does not count.
  template<class Parent, class Best, class Ends>
  constexpr void keep_ended(Parent const& parent, Best const& best, Ends const& ends, extent i,
                            double penalty, std::source_location at) {
    using both         = ended_and_others<Beam>;
    auto const all_of  = where(ends, best.score / static_cast<T>(penalty), none, at);
    auto const score   = slice<candidate, kept>(all_of, 0, at);
    auto const id      = slice<candidate, kept>(best.id, 0, at);
    auto before        = gather<Beam>(ids, slice<candidate, kept>(parent, 0, at), at);
    auto const longer  = write<target>(std::move(before), as_last<kept>(id, at), i, at);
    auto const scored  = concat<both>(ended_scores, score);
    auto const written = concat<both>(ended_ids, longer);
    auto const first   = top_k<both, kept>(scored, largest, at);
    ended_scores       = rename<kept, Beam>(first.value, at);
    ended_ids          = rename<kept, Beam>(gather<both>(written, first.index, at), at);
  }

  template<class D, class X>
  static constexpr auto as_last(X const& x, std::source_location at) {
    return broadcast<Batch..., D, next>(x, at);
  }
};

template<class Beam, class Net, class Caches, class Terms, class... Batch, class T, class L>
constexpr auto searched(beams<Net, Beam, T, L, Batch...> hypotheses, Net const& net, Caches caches,
                        Terms const& terms, std::int32_t end, beam_options const& options, extent longest,
                        std::source_location at) {
  double const last_penalty = length_penalty(longest, options.length_penalty);
  for (extent i = 0; i < longest; ++i) {
    auto const logits  = cast<T>(net.next_scores(hypotheses.last, i, caches, terms, at), at);
    double const now   = length_penalty(i + 1, options.length_penalty);
    auto const parents = hypotheses.advance(logits, i, end, now, at);
    auto const decided = hypotheses.is_decided(last_penalty, at);
    if (same_on_all(decided, T{0}, at) != 0) break;
    if (i + 1 < longest) reorder<Beam>(caches, parents, at);
  }
  return hypotheses.found(last_penalty, at);
}

}  // namespace detail

/// For each source the `Beam::size` best targets that the search finds, and their scores.
/// Keys and values are kept, so a step computes one position of each beam. No gradient.
///
///     struct beam : meshtf::dim<4> {};
///     auto const [ids, scores] =
///         nn::beam_search<beam>(net, nn::source_rows{source, not_equal(source, 0)}, end);
///     // [batch, beam, target] and [batch, beam]
///
/// In each step all live hypotheses go on with each id. Of these candidates the best `Beam::size` that do not
/// end stay live. Those that end are kept apart, ranked by their score, if they are among the first
/// `Beam::size` candidates. The search ends when no live hypothesis can become better than the worst of them,
/// which all processes learn from the first one in the same step, or at the longest length. Hypotheses that
/// have not ended by then come after those that have. With one beam and a length penalty of 0 it finds what
/// `greedy` finds.
///
/// `Beam` is whole under the layout. Each step costs the messages of the model; where `vocab` is split two
/// all-reduces of a number for each beam, and two all-gathers of the best ids of each part, at most
/// 2 * Beam::size for each beam; an all-reduce of whether all have ended where the batch is split, and a
/// broadcast of it. Beams change their places within each process: no key and no value is sent. A dry run
/// prices all steps, and counts the memory of all beams. Errors: `software_error` for a negative length
/// penalty, and for a longest length beyond the targets.
/// Source: Wu et al., Google's Neural Machine Translation System (2016), section 7; `beam_search` of Mesh
/// TensorFlow and of tensor2tensor.
template<Dimension Beam, class Net, class Sources>
constexpr auto beam_search(Net const& net, Sources const& sources, std::int32_t end,
                           beam_options options    = {},
                           std::source_location at = std::source_location::current()) {
  using ids    = std::remove_cvref_t<decltype(sources.source)>;
  using L      = typename ids::layout_type;
  using target = typename Net::target;
  using whole  = std::conditional_t<meshtf::detail::may_be_whole<actual<L>, Beam>, legal,
                                    beams_are_split<Beam, axes_of<actual<L>, Beam>>>;
  static_assert(accepted<whole>, "meshtf: beam_search keeps the beams of a sequence on one process");
  static_assert(Net::vocab::size >= 2, "meshtf: beam_search has at least two ids to choose from");
  if constexpr (!accepted<whole>) {
    return rejected{};
  } else {
    auto& m              = sources.source.machine();
    extent const there   = m.counted().template of<target>();
    extent const longest = options.longest == 0 ? there : options.longest;
    if (!(options.length_penalty >= 0) || longest < 1 || longest > there)
      detail::throw_beam_options(options, there);
    no_gradient const guard{m};
    auto caches      = net.template start<Beam>(sources, at);
    auto const terms = sources.source_terms();
    return [&]<Dimension... Batch>(shape<Batch...>) {
      using score = computed<typename Net::activation_type>;
      return detail::searched<Beam>(detail::beams<Net, Beam, score, L, Batch...>{m, at}, net,
                                    std::move(caches), terms, end, options, longest, at);
    }(without<typename ids::shape_type, shape<typename Net::source>>{});
  }
}

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
