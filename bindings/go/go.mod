module fatctx

go 1.19
