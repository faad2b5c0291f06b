"""What people read of a report on a terminal: lines that fit its width, and the same content as data.

The lines take their content from `auditor.causes.model` alone. Content of dumps passes through
`auditor.base.visible` where it is put into a line.
"""
