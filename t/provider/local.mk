## t/provider
