// The version of meshtf.
#pragma once

#define MESHTF_VERSION_MAJOR 0
#define MESHTF_VERSION_MINOR 1
#define MESHTF_VERSION_PATCH 0
