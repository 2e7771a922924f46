"""The zoo: wrong algorithms that no check may let pass, and correct ones that pass everywhere."""
