"""The weights of the networks of cfeval's test bed, in the folder `models`; `cfeval.core.package` finds them there."""
