"""Local files: views, digests, decompression, free space, work folders, and files that change while they are read."""
