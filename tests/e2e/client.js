// A client of the public JSON service as the TypeScript client is: @grpc/grpc-js, insecure channel, 64 MiB messages.
//   node client.js FOLDER_OF_NODE_MODULES PROTO ADDRESS
const [folder, proto, address] = process.argv.slice(2);
const { createRequire } = require('module');
const load = createRequire(folder + '/');
const grpc = load('@grpc/grpc-js');
const definition = load('@grpc/proto-loader').loadSync(proto, { keepCase: true, defaults: true });
const limit = 64 * 1024 * 1024;
const Client = grpc.loadPackageDefinition(definition).algenta.runtime.v1.CodnaRuntime;
const client = new Client(address, grpc.credentials.createInsecure(),
                          { 'grpc.max_send_message_length': limit, 'grpc.max_receive_message_length': limit });
const call = (method, request) => new Promise((resolve, reject) =>
  client[method](request, { deadline: Date.now() + 30000 }, (error, reply) => error ? reject(error) : resolve(reply)));

(async () => {
  const logits = Array.from({ length: 151936 }, (_, i) => Math.sin(i));
  const out = {
    health: await call('Health', {}),
    info: await call('GetRuntimeInfo', {}),
    modules: (await call('ListModules', {})).modules,
    add: await call('ExecuteModule', { module: 'llmk.residual', function: 'residual_add_flat',
                                       args_json: '[[0.1,2],[0.2,4],2]', request_id: 'js' }),
    argmax: await call('ExecuteModule', { module: 'llmk.generate', function: 'greedy_argmax_flat',
                                          args_json: JSON.stringify([logits, logits.length]) }),
    refused: await call('ExecuteModule', { module: 'llmk.residual', function: 'residual_add_flat', args_json: '[1]' }),
    best: logits.reduce((best, x, i) => x > logits[best] ? i : best, 0),
  };
  process.stdout.write(JSON.stringify(out));
  client.close();
})().catch(error => { console.error(error); process.exit(1); });
