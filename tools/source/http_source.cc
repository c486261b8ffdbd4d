// A source behind HTTP, by libcurl: several requests at a time, each for one range.
#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "tools/source/byte_source.h"
#include "tools/source/credentials_file.h"
#include "tools/source/curl_easy.h"
#include "tools/source/curl_library.h"
#include "tools/source/http_transfer.h"
#include "tools/source/retry_pause.h"

namespace fatctx::tools {
namespace {

constexpr std::uint64_t kFirstBytes = std::uint64_t{64} << 10U;  // size of the first request of a plan
constexpr std::uint64_t kLargeRange = std::uint64_t{32} << 20U;  // a larger one is divided among the connections

// A request names at most so many ranges, which also bounds its header to 3 KiB, and asks for at most so many bytes, so
// that a large fetch uses all connections. A larger range is asked for alone.
constexpr std::size_t kMostRanges = 64;
constexpr std::uint64_t kMostBytesTogether = std::uint64_t{1} << 20U;
constexpr int kPollMs = 200;  // between two looks at what the caller says

using RangesOfARequest = std::vector<ByteRange>;

Transfer transfer_of(RangesOfARequest ranges) {
  Transfer transfer;
  transfer.ranges = std::move(ranges);
  return transfer;
}

class HttpSource final : public ByteSource {
 public:
  HttpSource(HttpConnection connection, CURLM* multi, std::optional<std::uint64_t> blob_size)
      : connection_(std::move(connection)),
        multi_(multi),
        blob_size_(blob_size),
        several_(connection_.options.several) {
    if (!several_) several_ = std::make_shared<SeveralRanges>();
  }
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
      std::deque<Transfer> transfers;
      transfers.push_back(transfer_of({{0, kFirstBytes}}));
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
    for (const ByteRange& range : ranges) {
      if (!is_in_head(range)) continue;
      FATCTX_TRY(take(range.offset, ByteView(head_).subspan(static_cast<std::size_t>(range.offset),
                                                            static_cast<std::size_t>(range.size))));
    }
    std::deque<Transfer> transfers;
    ask_for(ranges, transfers);
    return run(transfers, take);
  }

  std::uint64_t requests_for(const std::vector<ByteRange>& ranges) const override { return divided(ranges).size(); }

  Status find_out(const std::vector<ByteRange>& ranges) override {
    const std::vector<RangesOfARequest> wanted = divided(ranges);
    const auto most = std::max_element(wanted.begin(), wanted.end(),
                                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (most == wanted.end() || !several_->is_new(most->size())) return Done{};
    return probe(*most);
  }

 private:
  [[nodiscard]] Status check_blob_size(std::uint64_t size) const {
    if (size == *blob_size_) return Done{};
    return Error{ErrorCode::kChanged,
                 fmt::format("the registry's blob has {} bytes, and the manifest says {}", size, *blob_size_)};
  }

  [[nodiscard]] bool is_in_head(ByteRange range) const noexcept { return range.offset + range.size <= head_.size(); }

  // Divides ranges among requests.
  [[nodiscard]] std::vector<RangesOfARequest> divided(const std::vector<ByteRange>& ranges) const {
    std::vector<RangesOfARequest> requests;
    std::uint64_t bytes = 0;  // that the last request in the list asks for
    const std::size_t most = several_->refused ? several_->sent : kMostRanges;
    for (const ByteRange& range : ranges) {
      if (is_in_head(range)) continue;
      const std::uint64_t pieces =
          range.size > kLargeRange && ranges.size() < connection_.options.parallel ? connection_.options.parallel : 1;
      const std::uint64_t size = range.size / pieces;
      for (std::uint64_t i = 0; i < pieces; ++i) {
        const ByteRange piece{range.offset + i * size, i + 1 == pieces ? range.size - i * size : size};
        const bool together =
            !requests.empty() && requests.back().size() < most && bytes + piece.size <= kMostBytesTogether;
        if (!together) {
          requests.emplace_back();
          bytes = 0;
        }
        bytes += piece.size;
        requests.back().push_back(piece);
      }
    }
    return requests;
  }

  // Asks for a byte of each range in one request, to know how the server answers so many. The request is counted as far
  // as a fetch would make it as well.
  Status probe(RangesOfARequest ranges) {
    for (ByteRange& range : ranges) range.size = 1;
    const TakeBytes ignore = [](std::uint64_t, ByteView) -> Status { return Done{}; };
    const std::uint64_t before = requests_;
    for (;;) {
      std::deque<Transfer> transfers;
      transfers.push_back(transfer_of(ranges));
      transfers.front().is_probe = true;
      FATCTX_TRY(run(transfers, ignore));
      if (transfers.front().error) continue;
      // A server that sends one range of several sends the first one of a fetch.
      requests_ = before + (transfers.front().refused ? 1 : 0);
      return Done{};
    }
  }

  struct Running {
    Easy easy;
    Lines lines;
    const Transfer* transfer = nullptr;
  };

  // Returns whether a request finds out if the server sends so many ranges as it asks for.
  [[nodiscard]] bool finds_out() const {
    return std::any_of(running_.begin(), running_.end(),
                       [this](const Running& one) { return several_->is_new(one.transfer->ranges.size()); });
  }

  void stop_all() {
    for (Running& one : running_) connection_.curl->multi_remove_handle(multi_, one.easy.get());
    running_.clear();
  }

  // Adds requests for ranges, as many in each as the server sends.
  void ask_for(const RangesOfARequest& ranges, std::deque<Transfer>& transfers) const {
    for (RangesOfARequest& one : divided(ranges)) transfers.push_back(transfer_of(std::move(one)));
  }

  // Begins as many of the transfers as may run. Until it is known how the server answers so many ranges, one request
  // finds out.
  Status begin_some(std::deque<Transfer>& transfers, std::size_t& next, const TakeBytes& take) {
    while (running_.size() < connection_.options.parallel && next < transfers.size()) {
      Transfer& transfer = transfers[next];
      if (several_->is_new(transfer.ranges.size()) && finds_out()) return Done{};
      ++next;
      if (several_->refused && transfer.ranges.size() > several_->sent) {
        ask_for(transfer.ranges, transfers);
        continue;
      }
      transfer.known = known_;
      transfer.take = &take;
      transfer.cancel = connection_.options.cancel;
      transfer.several = several_.get();
      Lines lines(nullptr, connection_.curl->slist_free_all);
      Easy easy = prepare_transfer(connection_, transfer, lines);
      if (!easy || connection_.curl->multi_add_handle(multi_, easy.get()) != CURLM_OK) {
        return Error{ErrorCode::kNoResource, "libcurl cannot begin a request"};
      }
      ++requests_;
      running_.push_back({std::move(easy), std::move(lines), &transfer});
    }
    return Done{};
  }

  // Runs the requests, some at a time. Errors that may go away stay in the transfers. Adds requests for ranges that the
  // server does not send together.
  Status run(std::deque<Transfer>& transfers, const TakeBytes& take) {
    auto ended = run_all(transfers, take);
    stop_all();
    FATCTX_TRY(std::move(ended));
    return after(transfers);
  }

  Status run_all(std::deque<Transfer>& transfers, const TakeBytes& take) {
    const CurlLibrary& curl = *connection_.curl;
    std::size_t next = 0;
    while (next < transfers.size() || !running_.empty()) {
      FATCTX_TRY(begin_some(transfers, next, take));
      int active = 0;
      if (curl.multi_perform(multi_, &active) != CURLM_OK) return Error{ErrorCode::kIo, "libcurl cannot go on"};
      bool any_ended = false;
      int left = 0;
      while (CURLMsg* const message = curl.multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        any_ended = true;
        CURL* const easy = message->easy_handle;
        const CURLcode code = message->data.result;
        Transfer* transfer = nullptr;
        curl.easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
        transfer->end(curl, code);
        curl.multi_remove_handle(multi_, easy);
        std::erase_if(running_, [&](const Running& one) { return one.easy.get() == easy; });
        if (transfer->error && !transfer->may_recover) return std::move(*transfer->error);
        ask_for(transfer->rest(), transfers);
      }
      // Nothing would wake it if no transfer is left.
      if (!any_ended && curl.multi_poll(multi_, nullptr, 0, kPollMs, nullptr) != CURLM_OK) {
        return Error{ErrorCode::kIo, "libcurl cannot go on"};
      }
    }
    return Done{};
  }

  // Waits before another try if no byte came. Errors: io (too many tries), cancelled.
  Status after(const std::deque<Transfer>& transfers) {
    const auto failed =
        std::find_if(transfers.begin(), transfers.end(), [](const Transfer& one) { return one.error.has_value(); });
    const bool came =
        std::any_of(transfers.begin(), transfers.end(), [](const Transfer& one) { return one.brought(); });
    if (failed == transfers.end() || came) tries_ = 0;
    if (failed == transfers.end()) return Done{};
    if (tries_++ >= connection_.options.retries) {
      return Error{failed->error->code, fmt::format("{}; the last {} brought nothing", failed->error->message,
                                                    tries_ == 1 ? "try" : fmt::format("{} tries", tries_))};
    }
    return pause_before_retry(tries_, connection_.options);
  }

  HttpConnection connection_;
  CURLM* multi_;
  std::optional<std::uint64_t> blob_size_;
  std::vector<std::byte> head_;
  FileVersion version_;
  const FileVersion* known_ = nullptr;  // null until the first answer
  std::shared_ptr<SeveralRanges> several_;
  std::vector<Running> running_;
  std::uint64_t requests_ = 0;
  std::uint32_t tries_ = 0;
};

Result<HttpConnection> connect_to(const std::string& url, const HttpOptions& options) {
  const std::size_t host = url.find("://") + 3;
  if (url.substr(host, url.find('/', host) - host).find('@') != std::string::npos) {
    return Error{ErrorCode::kInvalidArgument, "credentials do not belong into a URL; name them with --auth-file"};
  }
  HttpCredentials credentials = options.credentials;
  if (credentials.empty()) {
    FATCTX_ASSIGN(credentials, read_credentials(options.auth_file));
  }
  FATCTX_ASSIGN(const CurlLibrary* const curl, CurlLibrary::load());
  return HttpConnection{curl, url, options, std::move(credentials)};
}

Result<std::unique_ptr<HttpSource>> source_at_url(const std::string& url, const HttpOptions& options,
                                                  std::optional<std::uint64_t> blob_size) {
  FATCTX_ASSIGN(HttpConnection connection, connect_to(url, options));
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
  FATCTX_ASSIGN(const HttpConnection connection, connect_to(url, options));
  Transfer transfer;
  transfer.take = &take;
  transfer.cancel = options.cancel;
  transfer.version.emplace();  // nothing to judge: the whole file was asked for
  transfer.expected = UINT64_MAX;
  const CurlLibrary& curl = *connection.curl;
  Lines lines(nullptr, curl.slist_free_all);
  const Easy easy = prepare_transfer(connection, transfer, lines);
  if (!easy) return Error{ErrorCode::kNoResource, "libcurl cannot begin a request"};
  curl.easy_setopt(easy.get(), CURLOPT_FAILONERROR, 1L);
  const CURLcode code = curl.easy_perform(easy.get());
  if (code == CURLE_OK) transfer.expected = transfer.received;
  transfer.end(curl, code);
  if (transfer.error) return std::move(*transfer.error);
  return Done{};
}

}  // namespace fatctx::tools
