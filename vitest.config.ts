import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{packages,services}/*/src/**/*.test.ts', 'tests/{architecture,load}/**/*.test.ts'],
          exclude: ['**/*.int.test.ts'],
          setupFiles: 'tests/property-seed.ts',
          sequence: { groupOrder: 0 },
          testTimeout: 60_000, // machines differ, and no test asserts that something is quick
        },
      },
      {
        test: {
          name: 'stores',
          include: ['{packages,services}/*/src/**/*.int.test.ts', 'tests/{e2e,resilience}/**/*.test.ts'],
          globalSetup: 'packages/embedded/src/global-setup.ts',
          setupFiles: 'tests/property-seed.ts',
          pool: 'forks', // the engine must not be loaded into worker threads
          sequence: { groupOrder: 1 }, // after the unit tests
          maxWorkers: 2,
          testTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } }, // machines differ
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
