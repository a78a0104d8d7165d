/* clock.h - seconds of a clock that only goes forward, from no particular beginning. */
#pragma once

double sl_seconds(void);
