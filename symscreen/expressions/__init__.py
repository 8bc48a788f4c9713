"""Expression trees: evaluation, conversion to sympy, LaTeX and MathML, and linear models of expressions."""
