// The whole library.
#pragma once

#include <meshtf/detail/compiler.hpp>

#include <meshtf/data/batch_part.hpp>
#include <meshtf/data/batches.hpp>
#include <meshtf/data/byte_tokenizer.hpp>
#include <meshtf/data/idx.hpp>
#include <meshtf/data/labelled_images.hpp>
#include <meshtf/data/prefetched.hpp>
#include <meshtf/data/sentencepiece_tokenizer.hpp>
#include <meshtf/data/text.hpp>
#include <meshtf/data/tokenizer.hpp>
#include <meshtf/data/windows.hpp>
#include <meshtf/io/asynchronous_saves.hpp>
#include <meshtf/io/checkpoint.hpp>
#include <meshtf/io/describe_checkpoint.hpp>
#include <meshtf/io/description.hpp>
#include <meshtf/io/global.hpp>
#include <meshtf/io/log.hpp>
#include <meshtf/io/print.hpp>
#include <meshtf/io/print_names.hpp>
#include <meshtf/io/settings.hpp>
#include <meshtf/kernel/xtensor_view.hpp>
#include <meshtf/training.hpp>
