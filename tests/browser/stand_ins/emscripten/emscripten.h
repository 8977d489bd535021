#pragma once
/// \file
/// What the module takes of Emscripten's header, for a compiler of this machine.
#define EMSCRIPTEN_KEEPALIVE
// JavaScript alone calls the functions, and no header declares them.
#pragma GCC diagnostic ignored "-Wmissing-declarations"
