// The promises of writers that may be killed at any moment, in memory that outlives them, and the check of a file
// against these promises.
//
// A writer stores its intention before it begins, and the result once the operation has reported it. A file is right if
// it holds at least the results stored before the look, at most the intentions stored after it, and nothing partial.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/container.h"
#include "support/opened.h"
#include "support/sample_container.h"

namespace fatctx::crash::kills {

using support::Bytes;
using Number = std::atomic<std::uint64_t>;

inline constexpr const char* kBase = "base";  // in every file, so that no file is ever empty

// A promise about the records of one writer in one file. They are numbered without gaps; those up to `removed` are
// gone.
struct Promise {
  Number adding, added;      // intended, and done
  Number removing, removed;  // intended, and done
  Number generation;         // the last one reported
  Number sealing, sealed;    // newest number of the file when sealing was intended, and when it was done
};

inline constexpr int kPromises = 2;

struct Board {
  Promise promises[kPromises];
  Number damaging, repaired;
  Number rounds;  // of writers that are killed
  Number opens;   // by the reader
  std::atomic<bool> complained;
  char complaint[2'000];
};

// A board in shared memory: a process and its forked children see the same one.
class SharedBoard {
 public:
  SharedBoard()
      : board_(static_cast<Board*>(
            ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (board_ == MAP_FAILED) throw std::runtime_error("no shared memory");
  }
  ~SharedBoard() { ::munmap(board_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;

  [[nodiscard]] Board& operator*() const noexcept { return *board_; }
  [[nodiscard]] Board* operator->() const noexcept { return board_; }

 private:
  Board* board_;
};

// A writer whose records are in a file, and the promise about them.
struct Row {
  int writer = 0;
  int promise = 0;
};

// A file that may be checked at any moment.
struct Watched {
  std::string path;
  std::vector<Row> rows;
  OpenOptions options = {};
  bool generations_grow = true;
  std::uint64_t batch = 0;  // records are replaced in sets of this size; 0: one at a time
  bool repaired = false;    // copies of its metadata are damaged and repaired; nothing else leaves them behind
};

[[nodiscard]] inline std::string name_of(int writer, std::uint64_t number) {
  return "writer " + std::to_string(writer) + ", record " + std::to_string(number);
}

[[nodiscard]] inline Bytes bytes_of(std::string_view name) {
  const std::uint64_t hash = std::hash<std::string_view>{}(name);
  return support::pattern(500 + hash % 9'000, static_cast<std::uint32_t>(hash));
}

[[nodiscard]] inline PackRecord base_record() {
  return support::plain_record(RecordType::kOpaque, kBase, bytes_of(kBase));
}
[[nodiscard]] inline PackRecord numbered_record(int writer, std::uint64_t number) {
  const std::string name = name_of(writer, number);
  PackRecord record = support::binary_record(name, "x86-64-v3", bytes_of(name));
  record.key.unit = "unit " + std::to_string(writer) + " " + std::to_string(number);
  return record;
}

// Returns the numbers of the records of `writer`, ascending.
[[nodiscard]] inline std::set<std::uint64_t> numbers_in(const Container& container, int writer) {
  std::set<std::uint64_t> numbers;
  for (const RecordInfo& record : support::records_in(container)) {
    int by = 0;
    unsigned long long number = 0;
    if (std::sscanf(std::string(record.name).c_str(), "writer %d, record %llu", &by, &number) == 2 && by == writer) {
      numbers.insert(number);
    }
  }
  return numbers;
}

// A check of one file. The constructor reads the results from the board; complaint() reads the intentions after it has
// opened the file.
class Look {
 public:
  Look(const Board& board, const Watched& file) : board_(board), file_(file), repaired_(board.repaired) {
    for (const Row& row : file.rows) {
      const Promise& promise = board.promises[row.promise];
      done_.push_back({promise.added, promise.removed, promise.generation, promise.sealed});
    }
  }

  // Opens the file and returns a complaint; empty if the file is right. `verify` also checks every byte of it.
  [[nodiscard]] std::string complaint(bool verify) {
    const auto opened = Container::open(file_.path, file_.options);
    if (!opened.ok()) return to_text(opened.error());
    const Container& container = opened.value();
    for (std::size_t i = 0; i < done_.size(); ++i) {
      const std::string text = row_complaint(container, file_.rows[i], done_[i]);
      if (!text.empty()) return file_.path + ": " + text;
    }
    for (const RecordInfo& record : support::records_in(container)) {
      if (record.type != RecordType::kOpaque && record.type != RecordType::kContextBinary) continue;
      const auto view = container.acquire(record.id);
      if (!view.ok()) return to_text(view.error());
      if (!std::ranges::equal(view.value().bytes(), bytes_of(record.name))) {
        return file_.path + ": " + std::string(record.name) + " has other bytes than were written";
      }
    }
    if (!container.find(kBase).ok()) return file_.path + ": the first record is gone";
    return verify ? verify_complaint(container) : "";
  }

  // Returns the generation that the file had; 0 before complaint() or if it did not open.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

 private:
  struct Done {
    std::uint64_t added, removed, generation, sealed;
  };

  [[nodiscard]] std::string row_complaint(const Container& container, const Row& row, const Done& done) {
    const Promise& promise = board_.promises[row.promise];
    const std::uint64_t adding = promise.adding;
    const std::uint64_t removing = promise.removing;
    const std::set<std::uint64_t> numbers = numbers_in(container, row.writer);
    const std::uint64_t first = numbers.empty() ? 0 : *numbers.begin();
    const std::uint64_t last = numbers.empty() ? 0 : *numbers.rbegin();
    const std::string found = "writer " + std::to_string(row.writer) + " has the records " + std::to_string(first) +
                              " to " + std::to_string(last);
    if (!numbers.empty() && last - first + 1 != numbers.size()) return found + ", and not all between them";
    if (done.added > removing && (first > removing + 1 || last < done.added)) {
      return found + "; acknowledged are those to " + std::to_string(done.added) + ", and no more than " +
             std::to_string(removing) + " were to be removed";
    }
    if (!numbers.empty() && first <= done.removed) {
      return found + "; those to " + std::to_string(done.removed) + " were removed";
    }
    if (last > adding) return found + ", and nobody added more than " + std::to_string(adding);
    if (file_.batch != 0 && numbers.size() != file_.batch) return found + ", which is no whole set";
    const OpenReport report = support::report_of(container);
    generation_ = report.generation;
    if (file_.generations_grow && report.generation < done.generation) {
      return "it has generation " + std::to_string(report.generation) + "; acknowledged is " +
             std::to_string(done.generation);
    }
    if (report.sealed ? promise.sealing < last : done.sealed >= last && last != 0) {
      return report.sealed ? "nobody meant to seal it" : "it was sealed and is not any more";
    }
    return {};
  }

  [[nodiscard]] std::string verify_complaint(const Container& container) const {
    const auto report = container.verify({.threads = 1});
    if (!report.ok()) return to_text(report.error());
    if (file_.repaired && board_.damaging != repaired_) return {};  // it was damaged again meanwhile
    for (const VerifyFinding& finding : report.value().findings) {
      // A kill between the writes of a slot's two mirrors leaves one of them behind; the next append restores it.
      if (file_.repaired || finding.error.where.rule != "F6") return to_text(finding.error);
    }
    return {};
  }

  const Board& board_;
  const Watched& file_;
  std::uint64_t repaired_;
  std::vector<Done> done_;
  std::uint64_t generation_ = 0;
};

// Checks the files in a loop until it is killed or finds an error, which it writes to the board.
inline void read_all_the_while(Board& board, const std::vector<Watched>& files) {
  constexpr std::uint64_t kVerifyEvery = 4;
  std::map<std::string, std::uint64_t> newest;
  for (std::uint64_t i = 0;; ++i) {
    const Watched& file = files[i % files.size()];
    Look look(board, file);
    std::string complaint = look.complaint(i % kVerifyEvery < files.size());
    if (file.generations_grow && look.generation() < newest[file.path]) {
      complaint += file.path + " has become older for one reader";
    }
    newest[file.path] = look.generation();
    if (!complaint.empty()) {
      std::snprintf(board.complaint, sizeof board.complaint, "%s", complaint.c_str());
      board.complained = true;
      return;
    }
    ++board.opens;
  }
}

}  // namespace fatctx::crash::kills
