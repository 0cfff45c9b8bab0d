import { RegistryError } from '@meridian/registry/registry-error';
import { expect, test, vi } from 'vitest';
import { onceRegistryAnswers } from './once-registry-answers.ts';

const away = () => Promise.reject(new RegistryError('unavailable', 'away'));
const noFailure = () => expect.unreachable();

test('work that succeeds is done once', async () => {
  const work = vi.fn(async () => {});
  await onceRegistryAnswers(work, noFailure);
  expect(work).toHaveBeenCalledTimes(1);
});

test('while the registry is away the caller goes on, and the work is done when it answers', async () => {
  const done = new Promise<void>((resolve) => {
    const work = vi.fn(async () => resolve()).mockImplementationOnce(away);
    void onceRegistryAnswers(work, noFailure);
  });
  await done;
});

test('another reason ends it, at once or later', async () => {
  const broken = new Error('no such table');
  await expect(onceRegistryAnswers(() => Promise.reject(broken), noFailure)).rejects.toBe(broken);
  const failure = new Promise((resolve) => {
    const work = vi.fn(() => Promise.reject(broken)).mockImplementationOnce(away);
    void onceRegistryAnswers(work, resolve);
  });
  expect(await failure).toBe(broken);
});
