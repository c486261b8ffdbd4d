#include "runtime/open/attachments.h"

#include <utility>
#include <vector>

#include "runtime/open/mapped_container.h"

namespace fatctx {
namespace {

Attachments::OfRecord& counters(const MappedContainer& container, std::size_t index) {
  return container.attachments().at(index);
}

class ViewHold {
 public:
  ViewHold(std::shared_ptr<const MappedContainer> container, std::size_t index, std::shared_ptr<const void> keep)
      : container_(std::move(container)), keep_(std::move(keep)), counters_(counters(*container_, index)) {
    counters_.views.fetch_add(1, std::memory_order_relaxed);
  }
  ~ViewHold() { counters_.views.fetch_sub(1, std::memory_order_relaxed); }
  ViewHold(const ViewHold&) = delete;
  ViewHold& operator=(const ViewHold&) = delete;

 private:
  std::shared_ptr<const MappedContainer> container_;  // outlives the counters' last use
  std::shared_ptr<const void> keep_;
  Attachments::OfRecord& counters_;
};

class SessionHold {
 public:
  SessionHold(std::shared_ptr<const MappedContainer> container, std::span<const std::uint32_t> record_ids)
      : container_(std::move(container)) {
    held_.reserve(record_ids.size());
    for (const std::uint32_t id : record_ids) {
      const auto record = container_->find(id);
      if (!record.ok() || record.value() == nullptr) continue;  // nothing to count
      held_.push_back(&counters(*container_, container_->toc().index_of(*record.value())));
    }
    for (Attachments::OfRecord* record : held_) record->sessions.fetch_add(1, std::memory_order_relaxed);
    container_->attachments().sessions().fetch_add(1, std::memory_order_relaxed);
  }
  ~SessionHold() {
    for (Attachments::OfRecord* record : held_) record->sessions.fetch_sub(1, std::memory_order_relaxed);
    container_->attachments().sessions().fetch_sub(1, std::memory_order_relaxed);
  }
  SessionHold(const SessionHold&) = delete;
  SessionHold& operator=(const SessionHold&) = delete;

 private:
  std::shared_ptr<const MappedContainer> container_;
  std::vector<Attachments::OfRecord*> held_;
};

}  // namespace

std::shared_ptr<const void> attach_view(const std::shared_ptr<const MappedContainer>& container,
                                        const RecordInfo& record, std::shared_ptr<const void> keep) {
  return std::make_shared<const ViewHold>(container, container->toc().index_of(record), std::move(keep));
}

std::shared_ptr<const void> attach_session(const std::shared_ptr<const MappedContainer>& container,
                                           std::span<const std::uint32_t> record_ids) {
  return std::make_shared<const SessionHold>(container, record_ids);
}

}  // namespace fatctx
