## t/docs: what the READMEs and manual pages say is true

EXTRA_DIST += t/docs/backup.t t/docs/complete.t t/docs/network.t t/docs/production.t t/docs/sdk.t t/docs/tour.t src/README.md t/README.md
