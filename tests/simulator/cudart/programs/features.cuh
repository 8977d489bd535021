#pragma once
/// \file
/// What the two translation units of the program share.

/// Launches a kernel of the second translation unit that writes its variable plus 2.
void launch_second_unit(int* out);
/// Sets the second translation unit's variable (40 at first).
void set_second_unit_value(int value);
