/* The rows that move and list data, and those of whole families' FLOAT64, for one instruction set: the including file
 * defines ISA and is compiled with its flags. */
#include "kernels/isa.h"

#include "kernels/append_body.h"
#include "kernels/attention_f64_body.h"
#include "kernels/gather_body.h"
#include "kernels/nonzero_body.h"
#include "kernels/pad_body.h"
#include "kernels/pool_f64_body.h"
#include "kernels/pool_int_body.h"
#include "kernels/scatter_body.h"
#include "kernels/sequence_body.h"

KERN_ISA_RUN(append_any, append_run)
KERN_ISA_RUN(attention_f64, attention_f64_run)
KERN_ISA_RUN(gather_any, gather_run)
KERN_ISA_RUN(nonzero_any, nonzero_run)
KERN_ISA_RUN(pad_any, pad_run)
KERN_ISA_RUN(pool_f64, pool_f64_run)
KERN_ISA_RUN(pool_int, pool_int_run)
KERN_ISA_RUN(scatter_any, scatter_run)
KERN_ISA_RUN(sequence_any, sequence_run)
