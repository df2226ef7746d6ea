# python -m sprof: the program, for those who have no folder of scripts in their PATH.
from . import main

main()
