#include "common/simulator/units/tensor_core/operand_contents.hpp"

#include <string>

#include <fmt/core.h>

#include "common/simulator/machine/address_space.hpp"

namespace bw::sim {
namespace {

/// What was found in one CTA, or in several.
struct Found {
  uint32_t whole_rows = 0;
  const Cta* cta = nullptr;   ///< that has the first chunk with bytes that nothing has written
  uint32_t offset_bytes = 0;  ///< of that chunk
  [[nodiscard]] bool is_all() const { return cta == nullptr; }
};

class Looker {
 public:
  Looker(const Cta& cta, Found& found) : cta_(cta), found_(found) {}

  /// A bit for each byte of a chunk that was written.
  uint32_t look(uint32_t offset) {
    const uint32_t written = cta_.contents.written_chunk(offset);
    if (written != kWholeChunk && found_.cta == nullptr) {
      found_.cta = &cta_;
      found_.offset_bytes = offset;
    }
    return written;
  }

  static constexpr uint32_t kWholeChunk = (1u << kChunkBytes) - 1;

 private:
  const Cta& cta_;
  Found& found_;
};

void look_k_major(const SharedOperand& operand, const Cta& cta, Found& found) {
  Looker looker(cta, found);
  for (uint32_t row = 0; row < operand.rows; ++row) {
    uint32_t written = Looker::kWholeChunk;
    for (uint32_t chunk = 0; chunk < operand.k_bytes / kChunkBytes; ++chunk)
      written &= looker.look(operand.matrix.k_major_chunk(row, chunk));
    found.whole_rows += written == Looker::kWholeChunk;
  }
}

void look_mn_major(const SharedOperand& operand, const Cta& cta, Found& found) {
  Looker looker(cta, found);
  const uint32_t element = (1u << operand.element_bytes) - 1;
  for (uint32_t chunk = 0; chunk < operand.rows * operand.element_bytes / kChunkBytes; ++chunk) {
    uint32_t written = Looker::kWholeChunk;
    for (uint32_t k = 0; k < operand.k_bytes / operand.element_bytes; ++k)
      written &= looker.look(operand.matrix.mn_major_chunk(chunk, k));
    for (uint32_t byte = 0; byte < kChunkBytes; byte += operand.element_bytes)
      found.whole_rows += (written >> byte & element) == element;
  }
}

}  // namespace

void require_rows_written(const Site& site, uint32_t first_rank, uint32_t ctas,
                          const SharedOperand& operand, const char* use) {
  Found found;
  for (uint32_t rank = first_rank; rank < first_rank + ctas; ++rank) {
    const Cta& cta = site.strand.cluster->cta(rank);
    if (!cta.contents.is_tracked()) return;
    if (operand.major == Major::k)
      look_k_major(operand, cta, found);
    else
      look_mn_major(operand, cta, found);
  }
  if (found.is_all()) return;
  const auto fault = [&] {
    const uint32_t rows = operand.rows * ctas;
    const std::string which =
        found.whole_rows == 0
            ? std::string("of which no row is whole")
            : fmt::format("of which {} of {} rows are not whole", rows - found.whole_rows, rows);
    return unwritten_shared(*found.cta, found.offset_bytes, kChunkBytes,
                            fmt::format("{} {}, {}: it reads", use, operand.name, which),
                            site.strand);
  };
  if (found.whole_rows == 0)
    site.fault_at_isa(FaultCode::shared_never_written, fault);
  else
    site.warn(FaultCode::shared_never_written, fault);
}

}  // namespace bw::sim
