// A conforming store of decisions on stdin and stdout:  node server.mjs [--flush]

import { start } from './start.mjs';
import { Store } from './store.mjs';

await start(Store);
