// Run by vitest in its pool `vmThreads`: each test file has a realm of its own.
import * as mcpool from 'mcpool';
import { test } from 'vitest';
import { behaves } from './behaves.cjs';

test('errors keep their class and code', () => behaves(mcpool));
