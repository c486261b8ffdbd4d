// A source behind HTTP, by libcurl: several requests at a time, each for one range.
#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "tools/source/byte_source.h"
#include "tools/source/credentials_file.h"
#include "tools/source/curl_easy.h"
#include "tools/source/curl_library.h"
#include "tools/source/http_answer.h"
#include "tools/source/retry_pause.h"

namespace fatctx::tools {
namespace {

constexpr std::uint64_t kFirstBytes = std::uint64_t{64} << 10U;  // size of the first request of a plan
constexpr std::uint64_t kLargeRange = std::uint64_t{32} << 20U;  // a larger one is divided among the connections

// One request, from its start to its end.
struct Transfer {
  ByteRange range;
  const FileVersion* known = nullptr;
  const TakeBytes* take = nullptr;
  const std::atomic<bool>* cancel = nullptr;

  HttpAnswer answer;
  std::optional<FileVersion> version;  // set once the answer is judged
  std::uint64_t received = 0;
  std::uint64_t expected = 0;
  std::optional<Error> error;
  bool may_recover = false;  // another try may succeed
  std::array<char, CURL_ERROR_SIZE> words = {};

  bool judge() {
    auto judged = judge_answer(answer, range, known);
    if (!judged.ok()) {
      may_recover = tools::may_recover(answer.status);
      error = std::move(judged).error();
      return false;
    }
    version = std::move(judged).value();
    expected = known == nullptr ? std::min(range.size, version->size) : range.size;
    return true;
  }
  // Returns whether the request goes on.
  bool take_body(ByteView bytes) {
    if (!version && !judge()) return false;
    if (bytes.size() > expected - received) {
      error = Error{ErrorCode::kIo, "the server sends more bytes than were asked for"};
      return false;
    }
    auto taken = (*take)(range.offset + received, bytes);
    received += bytes.size();
    if (taken.ok()) return true;
    error = std::move(taken).error();
    return false;
  }
};

std::size_t on_line(char* data, std::size_t, std::size_t size, void* transfer) {
  try {
    static_cast<Transfer*>(transfer)->answer.take_line({data, size});
    return size;
  } catch (const std::bad_alloc&) {
    return 0;  // no exception may cross libcurl
  }
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* transfer) {
  try {
    return static_cast<Transfer*>(transfer)->take_body(std::as_bytes(std::span(data, size))) ? size : 0;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

int on_progress(void* transfer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const std::atomic<bool>* const cancel = static_cast<Transfer*>(transfer)->cancel;
  return cancel != nullptr && cancel->load() ? 1 : 0;
}

// The parts that all requests to one URL have in common.
struct Connection {
  const CurlLibrary* curl = nullptr;
  std::string url;
  HttpOptions options;
  HttpCredentials credentials;
};

// Prepares a request. `range`: null for the whole file. `lines` and the transfer must live as long as the request.
Easy prepare(const Connection& connection, const ByteRange* range, Transfer& transfer, Lines& lines) {
  const CurlLibrary& library = *connection.curl;
  Easy easy(library.easy_init(), library.easy_cleanup);
  if (!easy) return easy;
  CURL* const curl = easy.get();
  set_connection(library, curl, connection.url, connection.options, true);
  library.easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer.words.data());
  library.easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_line);
  library.easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  library.easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  library.easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  library.easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  library.easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  library.easy_setopt(curl, CURLOPT_PRIVATE, &transfer);
  set_credentials(library, curl, connection.credentials);
  if (range != nullptr) {
    const std::string words = fmt::format("{}-{}", range->offset, range->offset + range->size - 1);
    library.easy_setopt(curl, CURLOPT_RANGE, words.c_str());
    if (transfer.known != nullptr && !transfer.known->etag.empty()) {
      lines.reset(library.slist_append(nullptr, fmt::format("If-Range: {}", transfer.known->etag).c_str()));
      library.easy_setopt(curl, CURLOPT_HTTPHEADER, lines.get());
    }
  }
  return easy;
}

// Sets the error of a transfer that has ended.
void end(const CurlLibrary& curl, Transfer& transfer, CURLcode code) {
  if (transfer.error) return;
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    transfer.error = Error{ErrorCode::kCancelled, "the fetch was cancelled; what came is kept, fetch again to go on"};
    return;
  }
  if (code == CURLE_OK && !transfer.version && !transfer.judge()) return;
  if (code == CURLE_OK && transfer.received == transfer.expected) return;
  transfer.may_recover = !is_final(code);
  const std::string words = transfer.words[0] != '\0' ? transfer.words.data() : curl.easy_strerror(code);
  transfer.error = Error{ErrorCode::kIo, code == CURLE_OK ? fmt::format("the answer ends after {} of {} bytes",
                                                                        transfer.received, transfer.expected)
                                                          : words};
}

class HttpSource final : public ByteSource {
 public:
  HttpSource(Connection connection, CURLM* multi, std::optional<std::uint64_t> blob_size)
      : connection_(std::move(connection)), multi_(multi), blob_size_(blob_size) {}
  ~HttpSource() override { connection_.curl->multi_cleanup(multi_); }
  HttpSource(const HttpSource&) = delete;
  HttpSource& operator=(const HttpSource&) = delete;

  std::uint64_t size() const noexcept override { return version_.size; }
  std::uint64_t requests() const noexcept override { return requests_; }

  Status begin() {
    const TakeBytes take = [&](std::uint64_t, ByteView bytes) -> Status {
      head_.insert(head_.end(), bytes.begin(), bytes.end());
      return Done{};
    };
    for (;;) {
      head_.clear();
      std::deque<Transfer> transfers(1);
      transfers.front().range = {0, kFirstBytes};
      FATCTX_TRY(run(transfers, take));
      if (transfers.front().error) continue;
      version_ = *transfers.front().version;
      known_ = &version_;
      if (!blob_size_) return Done{};
      version_.size_alone = true;
      return check_blob_size(version_.size);
    }
  }

  // Begins with a size that is known, without a request.
  void begin_with(std::uint64_t size) {
    version_ = {.size = size, .etag = {}, .last_modified = {}, .size_alone = true};
    known_ = &version_;
  }

  Status read(const std::vector<ByteRange>& ranges, const TakeBytes& take) override {
    std::deque<Transfer> transfers;
    for (const ByteRange& range : ranges) {
      if (range.offset + range.size <= head_.size()) {
        FATCTX_TRY(take(range.offset, ByteView(head_).subspan(static_cast<std::size_t>(range.offset),
                                                              static_cast<std::size_t>(range.size))));
        continue;
      }
      const std::uint64_t pieces =
          range.size > kLargeRange && ranges.size() < connection_.options.parallel ? connection_.options.parallel : 1;
      const std::uint64_t size = range.size / pieces;
      for (std::uint64_t i = 0; i < pieces; ++i) {
        transfers.emplace_back().range = {range.offset + i * size, i + 1 == pieces ? range.size - i * size : size};
      }
    }
    return run(transfers, take);
  }

 private:
  [[nodiscard]] Status check_blob_size(std::uint64_t size) const {
    if (size == *blob_size_) return Done{};
    return Error{ErrorCode::kChanged,
                 fmt::format("the registry's blob has {} bytes, and the manifest says {}", size, *blob_size_)};
  }

  // Runs the requests, some at a time. Errors that may go away stay in the transfers.
  Status run(std::deque<Transfer>& transfers, const TakeBytes& take) {
    const CurlLibrary& curl = *connection_.curl;
    std::size_t next = 0;
    std::vector<std::pair<Easy, Lines>> running;
    std::optional<Error> final_error;
    const auto stop_all = [&] {
      for (auto& [easy, lines] : running) curl.multi_remove_handle(multi_, easy.get());
      running.clear();
    };
    while (!final_error && (next < transfers.size() || !running.empty())) {
      while (running.size() < connection_.options.parallel && next < transfers.size()) {
        Transfer& transfer = transfers[next++];
        transfer.known = known_;
        transfer.take = &take;
        transfer.cancel = connection_.options.cancel;
        Lines lines(nullptr, curl.slist_free_all);
        Easy easy = prepare(connection_, &transfer.range, transfer, lines);
        if (!easy || curl.multi_add_handle(multi_, easy.get()) != CURLM_OK) {
          stop_all();
          return Error{ErrorCode::kNoResource, "libcurl cannot begin a request"};
        }
        ++requests_;
        running.emplace_back(std::move(easy), std::move(lines));
      }
      int active = 0;
      if (curl.multi_perform(multi_, &active) != CURLM_OK ||
          curl.multi_poll(multi_, nullptr, 0, 200, nullptr) != CURLM_OK) {
        stop_all();
        return Error{ErrorCode::kIo, "libcurl cannot go on"};
      }
      int left = 0;
      while (CURLMsg* const message = curl.multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL* const easy = message->easy_handle;
        const CURLcode code = message->data.result;
        Transfer* transfer = nullptr;
        curl.easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
        end(curl, *transfer, code);
        curl.multi_remove_handle(multi_, easy);
        std::erase_if(running, [&](const auto& one) { return one.first.get() == easy; });
        if (transfer->error && !transfer->may_recover && !final_error) final_error = transfer->error;
      }
    }
    stop_all();
    if (final_error) return std::move(*final_error);
    return after(transfers);
  }

  // Waits before another try if no byte came. Errors: io (too many tries), cancelled.
  Status after(const std::deque<Transfer>& transfers) {
    const auto failed =
        std::find_if(transfers.begin(), transfers.end(), [](const Transfer& one) { return one.error.has_value(); });
    const bool came =
        std::any_of(transfers.begin(), transfers.end(), [](const Transfer& one) { return one.received != 0; });
    if (failed == transfers.end() || came) tries_ = 0;
    if (failed == transfers.end()) return Done{};
    if (tries_++ >= connection_.options.retries) {
      return Error{failed->error->code, fmt::format("{}; the last {} brought nothing", failed->error->message,
                                                    tries_ == 1 ? "try" : fmt::format("{} tries", tries_))};
    }
    return pause_before_retry(tries_, connection_.options);
  }

  Connection connection_;
  CURLM* multi_;
  std::optional<std::uint64_t> blob_size_;
  std::vector<std::byte> head_;
  FileVersion version_;
  const FileVersion* known_ = nullptr;  // null until the first answer
  std::uint64_t requests_ = 0;
  std::uint32_t tries_ = 0;
};

Result<Connection> connect_to(const std::string& url, const HttpOptions& options) {
  const std::size_t host = url.find("://") + 3;
  if (url.substr(host, url.find('/', host) - host).find('@') != std::string::npos) {
    return Error{ErrorCode::kInvalidArgument, "credentials do not belong into a URL; name them with --auth-file"};
  }
  HttpCredentials credentials = options.credentials;
  if (credentials.empty()) {
    FATCTX_ASSIGN(credentials, read_credentials(options.auth_file));
  }
  FATCTX_ASSIGN(const CurlLibrary* const curl, CurlLibrary::load());
  return Connection{curl, url, options, std::move(credentials)};
}

Result<std::unique_ptr<HttpSource>> source_at_url(const std::string& url, const HttpOptions& options,
                                                  std::optional<std::uint64_t> blob_size) {
  FATCTX_ASSIGN(Connection connection, connect_to(url, options));
  CURLM* const multi = connection.curl->multi_init();
  if (multi == nullptr) return Error{ErrorCode::kNoResource, "libcurl cannot begin"};
  return std::make_unique<HttpSource>(std::move(connection), multi, blob_size);
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_http_source(const std::string& url, const HttpOptions& options) {
  FATCTX_ASSIGN(std::unique_ptr<HttpSource> source, source_at_url(url, options, std::nullopt));
  FATCTX_TRY(source->begin());
  return std::unique_ptr<ByteSource>(std::move(source));
}

Result<std::unique_ptr<ByteSource>> open_blob_source(const std::string& url, std::uint64_t size, bool ask,
                                                     const HttpOptions& options) {
  FATCTX_ASSIGN(std::unique_ptr<HttpSource> source, source_at_url(url, options, size));
  if (ask) {
    FATCTX_TRY(source->begin());
  } else {
    source->begin_with(size);
  }
  return std::unique_ptr<ByteSource>(std::move(source));
}

Status stream_whole(const std::string& url, const TakeBytes& take, const HttpOptions& options) {
  FATCTX_ASSIGN(const Connection connection, connect_to(url, options));
  Transfer transfer;
  transfer.take = &take;
  transfer.cancel = options.cancel;
  transfer.version.emplace();  // nothing to judge: the whole file was asked for
  transfer.expected = UINT64_MAX;
  const CurlLibrary& curl = *connection.curl;
  Lines lines(nullptr, curl.slist_free_all);
  const Easy easy = prepare(connection, nullptr, transfer, lines);
  if (!easy) return Error{ErrorCode::kNoResource, "libcurl cannot begin a request"};
  curl.easy_setopt(easy.get(), CURLOPT_FAILONERROR, 1L);
  const CURLcode code = curl.easy_perform(easy.get());
  if (code == CURLE_OK) transfer.expected = transfer.received;
  end(curl, transfer, code);
  if (transfer.error) return std::move(*transfer.error);
  return Done{};
}

}  // namespace fatctx::tools
