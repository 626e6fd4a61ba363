## t/lint
