"""What `./workbook` consists of. Python standard library only: it runs before anything is installed.

cli       arguments, errors, exit status          commands  what each subcommand does
setup     brings a machine into shape             build     CMake and Ninja
packages  the distribution's packages             toolkit   finds a CUDA Toolkit
private_env  the checkout's own toolkit (wheels)  chapters  chapters and where they run
machine   CPU, memory, GPU                        process   child processes
console   progress and colour                     errors    the one exception that readers see
"""
