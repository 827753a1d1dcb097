"""The compiled bodies: arrays in, arrays out, no checks. Each file stands alone."""
