"""What `./workbook` consists of: the Python standard library only, as it runs first of all, but for
the reader's commands in reader/, which run in the private environment.

cli       arguments, errors, exit status          commands  what each subcommand does
setup     brings a machine into shape             build     CMake and Ninja
packages  the distribution's packages             toolkit   finds a CUDA Toolkit
private_env  the checkout's own toolkit (wheels)  chapters  chapters and where they run
machine   CPU, memory, GPU                        process   child processes
console   progress and colour                     errors    the one exception that readers see
api       exercises, as the commands use them     reader    list, next, check, watch and the like

The exercises: regions (marks in the code), exercises (TOML files), patches (faults), starters (what
readers begin with), answers (answers.toml), check and verdict, device_code (PTX alone), runs, trace and
reports (the simulator's words), compose (`use mine`), trials (what holds of each exercise); for
authors: try_exercise, texts, excerpts. docs/exercises.md describes them. limited: children that may
misbehave.
"""
