"""The base of all other packages: records, errors, paths in objects, Arrow schemas and kernels, releases.

Nothing here imports anything else of the project.
"""
