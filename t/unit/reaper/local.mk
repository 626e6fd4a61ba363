## unit tests of src/reaper
