"""What a study is made of; what is asked of one stands in :mod:`dse.verbs`."""
