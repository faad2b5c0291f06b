"""Operations on values of CEL: arithmetic, time, conversions, equality, texts, and what each step costs."""
