#include "tools/source/oci_source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fatctx/content_hash.h"
#include "tools/source/oci_manifest.h"
#include "tools/source/oci_registry.h"

namespace fatctx::tools {
namespace {

constexpr int kMostIdleRenewals = 3;

struct Blob {
  std::uint64_t offset = 0;  // where it begins in the container
  OciDescriptor descriptor;
  std::unique_ptr<ByteSource> source;  // null until it is read
};

class OciSource final : public ByteSource {
 public:
  OciSource(OciRegistry registry, std::vector<OciDescriptor> descriptors, std::string toc_sha256)
      : registry_(std::move(registry)), toc_sha256_(std::move(toc_sha256)) {
    for (OciDescriptor& descriptor : descriptors) {
      const std::uint64_t size = descriptor.size;
      if (size != 0) blobs_.push_back({size_, std::move(descriptor), nullptr});
      size_ += size;
    }
  }

  std::uint64_t size() const noexcept override { return size_; }
  std::uint64_t requests() const noexcept override {
    std::uint64_t sum = registry_.requests() + ended_requests_;
    for (const Blob& blob : blobs_) sum += blob.source ? blob.source->requests() : 0;
    return sum;
  }
  std::string toc_sha256() const override { return toc_sha256_; }

  std::uint64_t requests_for(const std::vector<ByteRange>& ranges) const override {
    std::uint64_t sum = 0;
    for (const Blob& blob : blobs_) {
      const std::vector<ByteRange> inside = ranges_in(blob, ranges);
      if (!inside.empty()) sum += blob.source ? blob.source->requests_for(inside) : inside.size();
    }
    return sum;
  }

  // Opens the sources of the blobs, so that requests_for() knows them.
  Status find_out(const std::vector<ByteRange>& ranges) override {
    for (Blob& blob : blobs_) {
      const std::vector<ByteRange> inside = ranges_in(blob, ranges);
      if (inside.empty()) continue;
      if (!blob.source) FATCTX_TRY(open(blob, false));
      auto done = blob.source->find_out(inside);
      if (!done.ok() && done.error().code == ErrorCode::kOperationNotPermitted) {
        FATCTX_TRY(renew(blob));
        done = blob.source->find_out(inside);
      }
      FATCTX_TRY(std::move(done));
    }
    return Done{};
  }

  // Asks for the first bytes, so that a registry that sends no ranges is known at once.
  Status begin() {
    if (blobs_.empty()) return Done{};
    auto opened = open(blobs_.front(), true);
    if (opened.ok() || opened.error().code != ErrorCode::kOperationNotPermitted) return opened;
    FATCTX_TRY(registry_.renew(blobs_.front().descriptor.sha256));
    return open(blobs_.front(), true);
  }

  Status read(const std::vector<ByteRange>& ranges, const TakeBytes& take) override {
    for (Blob& blob : blobs_) {
      const std::vector<ByteRange> inside = ranges_in(blob, ranges);
      if (!inside.empty()) FATCTX_TRY(read_blob(blob, inside, take));
    }
    return Done{};
  }

 private:
  // Returns the bytes of a blob that are in the ranges, by their places in the blob.
  static std::vector<ByteRange> ranges_in(const Blob& blob, const std::vector<ByteRange>& ranges) {
    std::vector<ByteRange> inside;
    for (const ByteRange& range : ranges) {
      const std::uint64_t first = std::max(range.offset, blob.offset);
      const std::uint64_t end = std::min(range.offset + range.size, blob.offset + blob.descriptor.size);
      if (first < end) inside.push_back({first - blob.offset, end - first});
    }
    return inside;
  }

  Status open(Blob& blob, bool ask) {
    if (blob.source) ended_requests_ += blob.source->requests();
    HttpOptions options = registry_.blob_options();
    options.several = several_;
    auto opened = open_blob_source(registry_.blob_url(blob.descriptor.sha256), blob.descriptor.size, ask, options);
    if (!opened.ok()) {
      ++ended_requests_;
      blob.source.reset();
      return std::move(opened).error();
    }
    blob.source = std::move(opened).value();
    return Done{};
  }

  Status read_blob(Blob& blob, const std::vector<ByteRange>& ranges, const TakeBytes& take) {
    if (!blob.source) FATCTX_TRY(open(blob, false));
    bool came = false;
    auto done = blob.source->read(ranges, [&](std::uint64_t offset, ByteView bytes) {
      came = true;
      return take(blob.offset + offset, bytes);
    });
    if (done.ok() || done.error().code != ErrorCode::kOperationNotPermitted) {
      if (came) idle_renewals_ = 0;
      if (done.ok()) return done;
      return in_context(std::move(done).error(), fmt::format("blob sha256:{}", blob.descriptor.sha256));
    }
    // A token lives for a minute or five; a fetch lives longer. The caller asks again for what it lacks.
    idle_renewals_ = came ? 0 : idle_renewals_ + 1;
    if (idle_renewals_ > kMostIdleRenewals) return done;
    return renew(blob);
  }

  Status renew(Blob& blob) {
    FATCTX_TRY(registry_.renew(blob.descriptor.sha256));
    // A server that refuses an old token may have refused several ranges for that.
    if (several_->refused) *several_ = {};
    return open(blob, false);
  }

  OciRegistry registry_;
  std::vector<Blob> blobs_;
  std::string toc_sha256_;
  std::shared_ptr<SeveralRanges> several_ = std::make_shared<SeveralRanges>();
  std::uint64_t size_ = 0;
  std::uint64_t ended_requests_ = 0;  // made by sources that were replaced
  int idle_renewals_ = 0;             // of the credentials, since bytes came
};

struct Resolved {
  OciRegistry registry;
  OciManifest manifest;
  std::string sha256;  // digest of the manifest
};

Result<Resolved> resolve(const std::string& reference, const HttpOptions& options) {
  FATCTX_ASSIGN(OciReference parsed, parse_oci_reference(reference));
  const std::string name = parsed.manifest_name();
  FATCTX_ASSIGN(OciRegistry registry, OciRegistry::open(std::move(parsed), options, RegistryRight::kPull));
  FATCTX_ASSIGN(ManifestText text, registry.manifest(name));
  FATCTX_ASSIGN(OciManifest manifest, parse_oci_manifest(text.json));
  return Resolved{std::move(registry), std::move(manifest), std::move(text.sha256)};
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_oci_source(const std::string& reference, const HttpOptions& options) {
  FATCTX_ASSIGN(Resolved resolved, resolve(reference, options));
  FATCTX_ASSIGN(std::vector<OciDescriptor> blobs, container_blobs(resolved.manifest));
  std::string toc(annotation(resolved.manifest.annotations, kTocAnnotation));
  if (!toc.empty() && !is_sha256_text(toc)) {
    return Error{ErrorCode::kMalformed, fmt::format("the annotation {} is not a SHA-256: \"{}\"", kTocAnnotation, toc)};
  }
  auto source = std::make_unique<OciSource>(std::move(resolved.registry), std::move(blobs), std::move(toc));
  FATCTX_TRY(source->begin());
  return std::unique_ptr<ByteSource>(std::move(source));
}

Status stream_whole_oci(const std::string& reference, const TakeBytes& take, const HttpOptions& options) {
  FATCTX_ASSIGN(Resolved resolved, resolve(reference, options));
  std::vector<OciDescriptor> blobs;
  if (is_beside_container(resolved.manifest)) {
    FATCTX_ASSIGN(OciDescriptor blob, blob_beside_container(resolved.manifest));
    blobs.push_back(std::move(blob));
  } else {
    FATCTX_ASSIGN(blobs, container_blobs(resolved.manifest));
  }
  std::uint64_t offset = 0;
  for (const OciDescriptor& blob : blobs) {
    // Asking for each one renews the token where it is needed.
    FATCTX_ASSIGN(const bool there, resolved.registry.has_blob(blob));
    if (!there)
      return Error{ErrorCode::kNotFound, fmt::format("the registry does not have the blob sha256:{}", blob.sha256)};
    Sha256Sum sum;
    std::uint64_t came = 0;
    const auto checked = [&](std::uint64_t at, ByteView bytes) -> Status {
      came += bytes.size();
      if (came > blob.size) {
        return Error{ErrorCode::kIo, fmt::format("the blob sha256:{} has more than {} bytes", blob.sha256, blob.size)};
      }
      sum.add(bytes);
      return take(offset + at, bytes);
    };
    FATCTX_TRY(stream_whole(resolved.registry.blob_url(blob.sha256), checked, resolved.registry.blob_options()));
    if (came != blob.size || sum.hex() != blob.sha256) {
      return Error{ErrorCode::kChecksumMismatch,
                   fmt::format("the registry sends {} bytes of the digest sha256:{} for the blob sha256:{} of {} bytes",
                               came, sum.hex(), blob.sha256, blob.size)};
    }
    offset += blob.size;
  }
  return Done{};
}

Result<OciBeside> find_oci_beside(const std::string& reference, std::string_view artifact_type, const std::string& from,
                                  const HttpOptions& options, std::uint64_t& requests) {
  FATCTX_ASSIGN(Resolved resolved, resolve(reference, options));
  const auto found = resolved.registry.referrers(resolved.sha256, artifact_type);
  requests += resolved.registry.requests();
  if (!found.ok()) return found.error();
  OciBeside best;
  for (const OciDescriptor& one : found.value()) {
    if (!from.empty() && annotation(one.annotations, kFromAnnotation) != from) continue;
    FATCTX_ASSIGN(const ManifestText text, resolved.registry.manifest("sha256:" + one.sha256));
    ++requests;
    FATCTX_ASSIGN(const OciManifest manifest, parse_oci_manifest(text.json));
    FATCTX_ASSIGN(const OciDescriptor blob, blob_beside_container(manifest));
    if (best.reference.empty() || blob.size < best.size) {
      best = {resolved.registry.reference().by_digest(one.sha256).text(), blob.size};
    }
  }
  return best;
}

}  // namespace fatctx::tools
