## t/reaper
