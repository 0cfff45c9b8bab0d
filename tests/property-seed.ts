// Property tests draw new values at every run and print the seed of one that fails. FUZZ_SEED=<seed> draws the same
// ones again.
const { FUZZ_SEED } = process.env;
if (FUZZ_SEED) {
  const { default: fc } = await import('fast-check');
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(FUZZ_SEED) });
}

export {};
