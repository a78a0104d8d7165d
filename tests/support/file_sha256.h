/* file_sha256.h - the SHA-256 of a file in hexadecimal, to compare what two runs left. */
#pragma once

void file_sha256(char hex[65], const char *directory, const char *name);
