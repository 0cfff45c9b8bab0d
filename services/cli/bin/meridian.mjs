#!/usr/bin/env node
// The command `meridian` in a checkout, where tsx is the root's.
import { register } from 'tsx/esm/api';

register();
await import('../src/main.ts');
