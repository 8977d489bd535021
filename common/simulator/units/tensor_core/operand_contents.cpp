#include "common/simulator/units/tensor_core/operand_contents.hpp"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/machine/address_space.hpp"

namespace bw::sim {
namespace {

/// What was found in one CTA.
struct Found {
  uint32_t whole_rows = 0;
  const Cta* cta = nullptr;   ///< that has the first chunk with bytes that nothing has written
  uint32_t offset_bytes = 0;  ///< of that chunk
  [[nodiscard]] bool is_all() const { return cta == nullptr; }
};

class ChunkReader {
 public:
  ChunkReader(const Cta& cta, Found& found) : cta_(cta), found_(found) {}

  /// A bit for each byte of a chunk that was written.
  uint32_t read(uint32_t offset) {
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

void scan_k_major(const SharedOperand& operand, const Cta& cta, Found& found) {
  ChunkReader reader(cta, found);
  for (uint32_t row = 0; row < operand.rows; ++row) {
    uint32_t written = ChunkReader::kWholeChunk;
    for (uint32_t chunk = 0; chunk < operand.k_bytes / kChunkBytes; ++chunk)
      written &= reader.read(operand.matrix.k_major_chunk(row, chunk));
    found.whole_rows += written == ChunkReader::kWholeChunk;
  }
}

void scan_mn_major(const SharedOperand& operand, const Cta& cta, Found& found) {
  ChunkReader reader(cta, found);
  const uint32_t element = (1u << operand.element_bytes) - 1;
  for (uint32_t chunk = 0; chunk < operand.rows * operand.element_bytes / kChunkBytes; ++chunk) {
    uint32_t written = ChunkReader::kWholeChunk;
    for (uint32_t k = 0; k < operand.k_bytes / operand.element_bytes; ++k)
      written &= reader.read(operand.matrix.mn_major_chunk(chunk, k));
    for (uint32_t byte = 0; byte < kChunkBytes; byte += operand.element_bytes)
      found.whole_rows += (written >> byte & element) == element;
  }
}

/// Whether all bytes of the lines that hold the operand were written: true of most operands, and
/// quick to check.
bool are_lines_written(const SharedOperand& operand, const Cta& cta) {
  const SharedLines lines =
      lines_of(operand.matrix, operand.major, operand.rows, operand.k_bytes / operand.element_bytes,
               operand.element_bytes);
  return lines.end_bytes <= cta.shared.size() &&
         cta.contents.is_written(lines.first_bytes, lines.end_bytes - lines.first_bytes);
}

/// Whether one of the parts of a tile that precede the operand begins with a written row.
bool follows_written_rows(const SharedOperand& operand, const Cta& cta) {
  constexpr int kMostPartsBefore = 3;  // a tile of 256 rows
  constexpr uint32_t kRowsOfStride = 8;
  const uint32_t span = operand.rows / kRowsOfStride * operand.matrix.stride_bytes;
  SharedOperand before = operand;
  before.rows = 1;
  for (int part = 0; operand.major == Major::k && part < kMostPartsBefore; ++part) {
    if (before.matrix.start_bytes < span) return false;
    before.matrix.start_bytes -= span;
    Found found;
    scan_k_major(before, cta, found);
    if (found.is_all()) return true;
  }
  return false;
}

}  // namespace

void require_rows_written(const Site& site, uint32_t first_rank, uint32_t ctas,
                          const SharedOperand& operand, const char* use) {
  // Each CTA of a pair loads its own part: one that is there says nothing about the other.
  for (uint32_t rank = first_rank; rank < first_rank + ctas; ++rank) {
    const Cta& cta = site.strand.cluster->cta(rank);
    if (!cta.contents.is_tracked()) return;
    if (are_lines_written(operand, cta)) continue;
    Found found;
    if (operand.major == Major::k)
      scan_k_major(operand, cta, found);
    else
      scan_mn_major(operand, cta, found);
    if (found.is_all() || found.whole_rows != 0) continue;
    if (operand.may_follow && follows_written_rows(operand, cta)) continue;
    site.fault_at_isa(FaultCode::shared_never_written, [&] {
      return unwritten_shared(
          cta, found.offset_bytes, kChunkBytes,
          fmt::format("{} {}, of which no row is whole{}: it reads", use, operand.name,
                      ctas > 1 ? fmt::format(" in CTA rank {}", rank) : std::string()),
          site.strand);
    });
  }
}

}  // namespace bw::sim
