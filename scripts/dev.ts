// The command line straight from the sources: npm run dev -- serve --config my/gateway.yaml
import { main } from '../src/cli/main.ts'

await main(process.argv.slice(2))
