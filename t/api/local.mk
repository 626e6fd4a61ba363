## t/api
