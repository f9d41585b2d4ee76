#include "server/worker/dialogue.h"

#include <gtest/gtest.h>

#include "modules/builtin.h"
#include "runtime/codec/json.h"
#include "server/worker/base64.h"

namespace krt::worker {
namespace {

class Dialogue : public ::testing::Test {
 protected:
  std::string reply_to(std::string_view request) { return answer(runtime_, request).json; }
  Runtime runtime_{builtin_registry(), {.threads = 2}};
};

TEST_F(Dialogue, AnswersToTheLetter) {
  const struct {
    std::string_view request, reply;
  } rows[] = {
      {R"({"type":"ping"})", R"({"status":"ok"})"},
      {R"({"type":"library_execute","engine_type":"library_execute","module":"llmk.residual",
           "function":"residual_add_flat","args":[[0.0,1.0],[10.0,9.5],2]})",
       R"({"result":{"__algenta_struct":"ResidResult","v":[[10.0,10.5],2,560]}})"},
      // A kernel's refusal is a result.
      {R"({"type":"library_execute","module":"llmk.residual","function":"residual_add_flat","args":[[1.0],[1.0],2]})",
       R"({"result":{"__algenta_struct":"ResidResult","v":[[],0,562]}})"},
      // Three ints are three arguments, not a tensor; a bare value has no envelope.
      {R"({"type":"library_execute","module":"llmk.contract","function":"llmk_residual_dims_check","args":[6,6,6]})",
       R"({"result":560})"},
      {R"({"type":"library_execute","module":"llmk.contract","function":"llmk_status_name","args":[562]})",
       R"({"result":"llmk_a_length_mismatch"})"},
      // Non-finite numbers are bare tokens both ways.
      {R"({"type":"library_execute","module":"llmk.residual","function":"residual_add_flat",
           "args":[[NaN,Infinity,-Infinity],[1.0,1.0,1.0],3]})",
       R"({"result":{"__algenta_struct":"ResidResult","v":[[NaN,Infinity,-Infinity],3,560]}})"},
      // Packed bytes: 0, 1, 255.
      {R"({"type":"library_execute","module":"llmk.residual","function":"residual_add_flat",
           "args":["@u8:AAH/","@u8:AAH/",3]})",
       R"({"result":{"__algenta_struct":"ResidResult","v":[[0.0,2.0,510.0],3,560]}})"},
  };
  for (const auto& row : rows) EXPECT_EQ(reply_to(row.request), row.reply) << row.request;
}

TEST_F(Dialogue, Refusals) {
  const struct {
    std::string_view request, code, text;
  } rows[] = {
      {"", "invalid_arguments", "malformed JSON at byte 0"},
      {"\xff\xfe", "invalid_arguments", "malformed JSON at byte 0"},
      {"[1,2]", "invalid_arguments", "member 'type' of the request must be a string"},
      {R"({"type":5})", "invalid_arguments", "member 'type' of the request must be a string"},
      {R"({"type":"query_execute"})", "invalid_arguments", "unknown request type 'query_execute'"},
      {R"({"type":"library_execute","function":"f"})", "invalid_arguments", "member 'module'"},
      {R"({"type":"library_execute","module":"llmk.nope","function":"f"})", "module_not_registered",
       "Unknown runtime library 'llmk.nope'"},
      {R"({"type":"library_execute","module":"llmk.residual","function":"_x"})", "function_not_registered",
       "Runtime library 'llmk.residual' does not expose '_x'"},
      {R"({"type":"library_execute","module":"llmk.residual","function":"residual_add_flat","args":[[1.0],[1.0],1.0]})",
       "invalid_arguments", "argument 'n' must be int"},
      {R"({"type":"library_execute","module":"llmk.residual","function":"residual_add_flat","args":["@u8:A","",1]})",
       "invalid_arguments", "argument 'a' is no base64 behind '@u8:'"},
      {R"({"type":"batch_execute"})", "invalid_arguments", "member 'requests'"},
  };
  for (const auto& row : rows) {
    const Result<Value> reply = parse_json(reply_to(row.request));
    ASSERT_TRUE(reply.ok()) << row.request;
    EXPECT_EQ(*(*reply)["error_code"].get_if<std::string>(), row.code) << row.request;
    EXPECT_NE((*reply)["error_message"].get_if<std::string>()->find(row.text), std::string::npos)
        << *(*reply)["error_message"].get_if<std::string>();
    EXPECT_TRUE(identical((*reply)["error"], (*reply)["error_message"]));
  }
}

TEST_F(Dialogue, BatchKeepsOrderAndCountsFailures) {
  const std::string requests = R"([
    {"module":"llmk.contract","function":"llmk_status_name","args":[560]},
    {"module":"llmk.contract","function":"nope","args":[]},
    {"module":"llmk.contract","function":"llmk_status_name","args":[561]}])";
  for (const char* partial : {"", R"("partial_ok":true,)", R"("partial_ok":false,)"}) {
    const Result<Value> reply =
        parse_json(reply_to(R"({"type":"batch_execute",)" + std::string(partial) + R"("requests":)" + requests + "}"));
    ASSERT_TRUE(reply.ok());
    const bool stops = std::string_view(partial).ends_with("false,");
    EXPECT_TRUE(identical((*reply)["count"], stops ? 2 : 3)) << partial;
    EXPECT_TRUE(identical((*reply)["ok"], stops ? 1 : 2));
    EXPECT_TRUE(identical((*reply)["failed"], 1));
    EXPECT_TRUE(identical((*reply)["stopped_early"], stops));
    const List& results = *(*reply)["results"].get_if<List>();
    EXPECT_TRUE(identical(results[0]["result"], "llmk_ok"));
    EXPECT_TRUE(identical(results[1]["error_code"], "function_not_registered"));
    EXPECT_TRUE(identical(results[1]["op_index"], 1));
    EXPECT_TRUE(stops || identical(results[2]["result"], "llmk_empty_dimension"));
  }
}

TEST_F(Dialogue, AReplyOverAFrame) {
  const std::string large =
      R"("module":"attnk.mask","function":"mask_causal_flat","args":[3700,3700,0]})";  // 13.7 M cells, half of them
                                                                                       // infinite
  const std::string text = "the reply would be over the limit of 67108864 bytes for a frame";
  const Result<Value> alone = parse_json(reply_to(R"({"type":"library_execute",)" + large));
  EXPECT_TRUE(identical((*alone)["error_code"], "resource_exhausted"));
  EXPECT_TRUE(identical((*alone)["error_message"], text));

  const std::string small = R"({"module":"llmk.contract","function":"llmk_status_name","args":[560]})";
  const Result<Value> batch =
      parse_json(reply_to(R"({"type":"batch_execute","requests":[)" + small + ",{" + large + "," + small + "]}"));
  ASSERT_TRUE(batch.ok());
  const List& results = *(*batch)["results"].get_if<List>();
  EXPECT_TRUE(identical((*batch)["ok"], 2));
  EXPECT_TRUE(identical(results[1]["error_message"], text));
  EXPECT_TRUE(identical(results[1]["op_index"], 1));
  EXPECT_TRUE(identical(results[2]["result"], "llmk_ok"));
}

TEST_F(Dialogue, ShutdownIsReported) {
  const Reply bye = answer(runtime_, R"({"type":"shutdown"})");
  EXPECT_TRUE(bye.shutdown);
  EXPECT_EQ(bye.json, R"({"status":"bye"})");
  EXPECT_FALSE(answer(runtime_, R"({"type":"ping"})").shutdown);
}

TEST(Base64, RfcVectorsAndRefusals) {
  const struct {
    std::string_view text;
    std::string_view bytes;
  } vectors[] = {{"", ""},
                 {"Zg==", "f"},
                 {"Zm8=", "fo"},
                 {"Zm9v", "foo"},
                 {"Zm9vYg==", "foob"},
                 {"Zm9vYmE=", "fooba"},
                 {"Zm9vYmFy", "foobar"}};  // RFC 4648, section 10
  for (const auto& v : vectors) {
    const auto numbers = base64_numbers(v.text);
    ASSERT_TRUE(numbers) << v.text;
    EXPECT_EQ(std::string(numbers->begin(), numbers->end()), v.bytes);
  }
  for (const std::string_view bad : {"Z", "Zg=", "Zh==", "Zm9v ", "Zg==Zg==", "====", "Zm-v", "Zm9"})
    EXPECT_FALSE(base64_numbers(bad)) << bad;
}

}  // namespace
}  // namespace krt::worker
