"""The pages of the reference that are written from values: one module a kind of page, and none of them edited by hand."""
