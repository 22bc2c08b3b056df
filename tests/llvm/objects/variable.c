// Has a variable.
int counter = 1;

void variable(void) { ++counter; }
