// Errors: what a program says when it can't go on, and the status it exits with.
#pragma once

#include <stdexcept>
#include <string>

namespace meshtf {
inline namespace v0 {

/// Base of everything the library throws. The text is one line: what is wrong, what was expected and found,
/// what to type next.
///
/// The exit status is that of the whole job; its values are those of BSD's sysexits.h. There is one more, 75,
/// of a job that goes right if the same command is started again: one that did not go on (docs/watchdog.md).
class error : public std::runtime_error {
public:
  explicit error(std::string const& text, int exit_status = 70)
      : std::runtime_error{text}, status_{exit_status} {
    be_latest();
  }
  error(error const& other) noexcept : std::runtime_error{other}, status_{other.status_} { other.copied(); }
  error& operator=(error const& other) noexcept {
    other.copied();
    dropped();
    std::runtime_error::operator=(other);
    status_ = other.status_;
    return *this;
  }
  ~error() override { dropped(); }

  int exit_status() const noexcept { return status_; }

  struct record {
    std::string text;
    int exit_status   = 70;
    char const* words = nullptr;  // of the error while it lives: copies of it have the same ones
    int copies        = 0;
  };

  /// The latest error made on this thread. A destructor that runs during unwinding can't see the exception,
  /// and `environment` must name it there. An error that has been handled is not that exception: so it is
  /// known whether this one lives.
#ifdef MESHTF_ARCHITECTURE
  static record& latest();
#else
  static record& latest() {
    static thread_local record made;
    return made;
  }
#endif

  /// An error that was made on another thread is about to be thrown on this one.
  void be_latest() const { latest() = {words(), status_, words(), 1}; }

private:
  char const* words() const noexcept { return std::runtime_error::what(); }
  void copied() const noexcept {
    if (latest().words == words()) ++latest().copies;
  }
  void dropped() const noexcept {
    if (latest().words == words() && --latest().copies == 0) latest().words = nullptr;
  }

  int status_;
};

/// The command line, or the number of processes, is wrong.
struct usage_error : error {
  explicit usage_error(std::string const& text) : error{text, 64} {}
};

/// The content of a file violates its format.
struct data_error : error {
  explicit data_error(std::string const& text) : error{text, 65} {}
};

/// A file is missing or can't be read.
struct no_input : error {
  explicit no_input(std::string const& text) : error{text, 66} {}
};

/// MPI or the system refused: a message was not delivered, or memory ran out.
struct unavailable : error {
  explicit unavailable(std::string const& text) : error{text, 69} {}
};

/// The program calls the library in a way that can't be right.
struct software_error : error {
  explicit software_error(std::string const& text) : error{text, 70} {}
};

/// A value was written while the tape holds it for `backward`.
struct stale_value : software_error {
  using software_error::software_error;
};

/// Throws the class that a status stands for: an error that crossed a process boundary as text and number
/// becomes an exception again.
[[noreturn]] inline void throw_error(std::string const& text, int exit_status) {
  switch (exit_status) {
    case 64: throw usage_error{text};
    case 65: throw data_error{text};
    case 66: throw no_input{text};
    case 69: throw unavailable{text};
    case 70: throw software_error{text};
    default: throw error{text, exit_status};
  }
}

}  // namespace v0
}  // namespace meshtf
