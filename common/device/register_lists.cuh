#pragma once
/// \file
/// Operand lists of 1 to 128 registers for inline assembly: the names `%0, %1, …`, and the
/// operands `r[i], r[i + 1], …` with their constraint. Each list is put together from two shorter
/// ones.

/// \cond what wrappers of tensor memory are made of
#define BW_REGISTER_NAMES_1 "%0"
#define BW_REGISTER_NAMES_2 \
  BW_REGISTER_NAMES_1       \
  ", %1"
#define BW_REGISTER_NAMES_4 \
  BW_REGISTER_NAMES_2       \
  ", %2, %3"
#define BW_REGISTER_NAMES_8 \
  BW_REGISTER_NAMES_4       \
  ", %4, %5, %6, %7"
#define BW_REGISTER_NAMES_12 \
  BW_REGISTER_NAMES_8        \
  ", %8, %9, %10, %11"
#define BW_REGISTER_NAMES_16 \
  BW_REGISTER_NAMES_8        \
  ", %8, %9, %10, %11, %12, %13, %14, %15"
#define BW_REGISTER_NAMES_24 \
  BW_REGISTER_NAMES_16       \
  ", %16, %17, %18, %19, %20, %21, %22, %23"
#define BW_REGISTER_NAMES_32 \
  BW_REGISTER_NAMES_16       \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define BW_REGISTER_NAMES_48 \
  BW_REGISTER_NAMES_32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define BW_REGISTER_NAMES_64                                                         \
  BW_REGISTER_NAMES_32                                                               \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define BW_REGISTER_NAMES_72 \
  BW_REGISTER_NAMES_64       \
  ", %64, %65, %66, %67, %68, %69, %70, %71"
#define BW_REGISTER_NAMES_96                                                         \
  BW_REGISTER_NAMES_64                                                               \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define BW_REGISTER_NAMES_128                                                                    \
  BW_REGISTER_NAMES_64                                                                           \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"             \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"             \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, " \
  "%127"

#define BW_REGISTER_OPERANDS_1(constraint, r, i) constraint(r[i])
#define BW_REGISTER_OPERANDS_2(constraint, r, i) \
  BW_REGISTER_OPERANDS_1(constraint, r, i), BW_REGISTER_OPERANDS_1(constraint, r, (i) + 1)
#define BW_REGISTER_OPERANDS_4(constraint, r, i) \
  BW_REGISTER_OPERANDS_2(constraint, r, i), BW_REGISTER_OPERANDS_2(constraint, r, (i) + 2)
#define BW_REGISTER_OPERANDS_8(constraint, r, i) \
  BW_REGISTER_OPERANDS_4(constraint, r, i), BW_REGISTER_OPERANDS_4(constraint, r, (i) + 4)
#define BW_REGISTER_OPERANDS_12(constraint, r, i) \
  BW_REGISTER_OPERANDS_8(constraint, r, i), BW_REGISTER_OPERANDS_4(constraint, r, (i) + 8)
#define BW_REGISTER_OPERANDS_16(constraint, r, i) \
  BW_REGISTER_OPERANDS_8(constraint, r, i), BW_REGISTER_OPERANDS_8(constraint, r, (i) + 8)
#define BW_REGISTER_OPERANDS_24(constraint, r, i) \
  BW_REGISTER_OPERANDS_16(constraint, r, i), BW_REGISTER_OPERANDS_8(constraint, r, (i) + 16)
#define BW_REGISTER_OPERANDS_32(constraint, r, i) \
  BW_REGISTER_OPERANDS_16(constraint, r, i), BW_REGISTER_OPERANDS_16(constraint, r, (i) + 16)
#define BW_REGISTER_OPERANDS_48(constraint, r, i) \
  BW_REGISTER_OPERANDS_32(constraint, r, i), BW_REGISTER_OPERANDS_16(constraint, r, (i) + 32)
#define BW_REGISTER_OPERANDS_64(constraint, r, i) \
  BW_REGISTER_OPERANDS_32(constraint, r, i), BW_REGISTER_OPERANDS_32(constraint, r, (i) + 32)
#define BW_REGISTER_OPERANDS_72(constraint, r, i) \
  BW_REGISTER_OPERANDS_64(constraint, r, i), BW_REGISTER_OPERANDS_8(constraint, r, (i) + 64)
#define BW_REGISTER_OPERANDS_96(constraint, r, i) \
  BW_REGISTER_OPERANDS_64(constraint, r, i), BW_REGISTER_OPERANDS_32(constraint, r, (i) + 64)
#define BW_REGISTER_OPERANDS_128(constraint, r, i) \
  BW_REGISTER_OPERANDS_64(constraint, r, i), BW_REGISTER_OPERANDS_64(constraint, r, (i) + 64)
/// \endcond
