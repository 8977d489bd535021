#pragma once
/// \file
/// OutputPipelineConfig under its chapter's name. It is defined one chapter earlier, because
/// TmemStage is made from it.

#include "solutions/02_tmem_lifecycle/output_pipeline_config.cuh"
