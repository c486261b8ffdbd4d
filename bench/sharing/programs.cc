#include "sharing/programs.h"

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

#include "support/or_stop.h"

namespace fatctx::bench {
namespace {

// Quotes text as one word of a shell.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

struct Answer {
  std::string text;
  int status = 0;
};

Answer answer_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) stop("cannot run a shell");
  Answer answer;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) answer.text += static_cast<char>(c);
  answer.status = ::pclose(pipe);
  return answer;
}

}  // namespace

Floor floor_of(const Corpus& corpus) {
  const Answer answer = answer_of(quoted(FATCTX_BENCH_PYTHON) + " " + quoted(FATCTX_BENCH_FLOOR) + " " +
                                  quoted(corpus.parts_list) + " " + quoted(corpus.tiles_list));
  std::istringstream in(answer.text);
  Floor floor;
  std::uint64_t same_pages = 0;
  if (answer.status != 0 || !(in >> floor.parts >> floor.pages >> floor.tiles >> same_pages)) {
    stop("no floor of " + corpus.name + ": " FATCTX_BENCH_FLOOR " failed");
  }
  if (same_pages != floor.pages) stop("the lists of " + corpus.name + " are about different files");
  return floor;
}

std::optional<std::uint64_t> zstd_size(const Corpus& corpus) {
  if (answer_of("command -v zstd").status != 0) return std::nullopt;
  std::string command = "cat";
  for (const CorpusFile& file : corpus.files) command += " " + quoted(file.path);
  const Answer answer = answer_of(command + " | zstd -q -3 --long=27 -c | wc -c");
  std::istringstream in(answer.text);
  std::uint64_t size = 0;
  if (answer.status != 0 || !(in >> size) || size == 0) stop("zstd failed");
  return size;
}

}  // namespace fatctx::bench
