"""When versions of built-in kinds came, were deprecated and removed, as the libraries themselves say."""
